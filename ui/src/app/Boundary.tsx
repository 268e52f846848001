import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../components/basics';

/** A fault of ours must not leave an empty window: say so, and offer the way back. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    return this.state.error ? <Broken error={this.state.error} /> : this.props.children;
  }
}

function Broken({ error }: { error: Error }) {
  const { t } = useTranslation();
  return (
    <main className="broken">
      <h1>{t('broken.title')}</h1>
      <p>{t('broken.text')}</p>
      <pre>{error.message}</pre>
      <Button look="main" onClick={() => window.location.reload()}>
        {t('action.reload')}
      </Button>
    </main>
  );
}
