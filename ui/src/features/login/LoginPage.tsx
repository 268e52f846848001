import { useState, type FormEvent } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import { listProjects } from '../../api/carillon';
import { session } from '../../app/session';
import { usePage } from '../../app/usePage';
import { ErrorPanel } from '../../components/answer';
import { Button, Field } from '../../components/basics';
import { Mark, Peal } from '../../components/icons';
import { LANGUAGES, chooseLanguage, type Language } from '../../i18n';

export function LoginPage() {
  const { t, i18n } = useTranslation();
  const [token, setToken] = useState('');
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  usePage(t('login.title'));

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const trimmed = token.trim();
    if (trimmed === '') return;
    setBusy(true);
    setError(null);
    try {
      await listProjects({ token: trimmed });
      session.start(trimmed, remember);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="login">
      <main>
        <Peal />
        <div className="login-brand">
          <Mark size={44} />
          <h1>Carillon</h1>
        </div>
        <p className="login-motto">{t('login.motto')}</p>
        {session.expired() && !error && (
          <p className="login-expired" role="status">
            {t('login.expired')}
          </p>
        )}
        <form onSubmit={(event) => void submit(event)}>
          <Field
            label={t('login.token')}
            hint={
              <Trans i18nKey="login.where" components={{ file: <code className="nowrap" />, command: <code className="nowrap" /> }} />
            }
          >
            {({ id, describedBy }) => (
              <input
                id={id}
                type="password"
                name="token"
                autoComplete="current-password"
                spellCheck={false}
                autoFocus
                required
                value={token}
                aria-describedby={describedBy}
                onChange={(event) => setToken(event.target.value)}
              />
            )}
          </Field>
          <label className="check">
            <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
            <span>{t('login.remember')}</span>
          </label>
          <Button type="submit" look="main" busy={busy}>
            {t('login.submit')}
          </Button>
        </form>
        {error !== null && <ErrorPanel error={error} />}
        <label className="login-language">
          <span className="sr-only">{t('settings.language')}</span>
          <select value={i18n.language} onChange={(event) => void chooseLanguage(event.target.value as Language)}>
            {Object.entries(LANGUAGES).map(([tag, name]) => (
              <option key={tag} value={tag} lang={tag}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </main>
    </div>
  );
}
