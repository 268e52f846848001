import { Component, Suspense, lazy, useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { RunStep } from '../../api/types';
import { Loading } from '../../components/answer';
import { State } from '../../components/state';
import { inOrder, type GraphStep } from './model';
import { useWord } from '../../components/words';

const GraphCanvas = lazy(() => import('./GraphCanvas'));

const NARROW = '(max-width: 640px)';

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => window.matchMedia(NARROW).matches);
  useEffect(() => {
    const media = window.matchMedia(NARROW);
    const change = (): void => setNarrow(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, []);
  return narrow;
}

interface JobGraphProps {
  steps: GraphStep[];
  run?: RunStep[];
  live?: boolean;
  selected?: string | null;
  onSelect?: (step: string) => void;
}

/** The graph as a drawing, and the same as an ordered list: shown by choice, and always there for screen readers. */
export function JobGraph({ steps, run, live = false, selected, onSelect }: JobGraphProps) {
  const { t } = useTranslation();
  const word = useWord();
  const narrow = useNarrow();
  const [asList, setAsList] = useState(false);
  const states = new Map((run ?? []).map((step) => [step.step, step]));
  if (steps.length === 0) return <p className="muted">{t('graph.empty')}</p>;
  return (
    <div className="graph">
      <div className="segmented" role="group" aria-label={t('graph.view')}>
        <button type="button" aria-pressed={!asList} onClick={() => setAsList(false)}>
          {t('graph.drawing')}
        </button>
        <button type="button" aria-pressed={asList} onClick={() => setAsList(true)}>
          {t('graph.list')}
        </button>
      </div>
      {!asList && (
        <div role="group" aria-label={t('graph.label', { count: steps.length })}>
          <DrawingBoundary fallback={<p className="muted">{t('graph.failed')}</p>}>
            <Suspense fallback={<Loading rows={3} />}>
              <GraphCanvas steps={steps} states={states} live={live} narrow={narrow} selected={selected} onSelect={onSelect} />
            </Suspense>
          </DrawingBoundary>
        </div>
      )}
      <ol className={asList ? 'step-list' : 'sr-only'} aria-label={t('graph.listlabel')}>
        {inOrder(steps).map((step) => (
          <li key={step.name}>
            <span className="step-list-name">{step.name}</span>
            {states.get(step.name) && <State state={states.get(step.name)?.state ?? ''} quiet />}
            <span className="muted">
              {step.after.length === 0
                ? t('graph.start')
                : t('graph.after', {
                    steps: step.after.map((edge) => (edge.on === 'success' ? edge.from : `${edge.from} (${word('edge', edge.on)})`)).join(', '),
                  })}
            </span>
            <span className="muted mono">{step.calls}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** If the late part of the program does not arrive (a new version was installed), the list still tells it all. */
class DrawingBoundary extends Component<{ fallback: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}
