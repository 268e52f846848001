import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { projectName } from '../../api/carillon';
import { useProjects, useUnreadiness, useWhoAmI } from '../../api/queries';
import { paths, rememberProject } from '../../app/paths';
import { session } from '../../app/session';
import { changeSettings, useSettings, type Theme } from '../../app/settings';
import { localZone } from '../../app/time';
import { useHeadingFocus } from '../../app/usePage';
import { Button } from '../../components/basics';
import { Icon, Mark } from '../../components/icons';
import { useWord } from '../../components/words';
import { LANGUAGES, chooseLanguage, type Language } from '../../i18n';

export function Shell({ project, children }: { project: string; children: ReactNode }) {
  const { t } = useTranslation();
  const [location] = useLocation();
  const { clock } = useSettings();
  useEffect(() => rememberProject(project), [project]);
  useHeadingFocus(location);

  const nav = [
    { to: paths.jobs(project), text: t('nav.jobs'), on: /^\/projects\/[^/]+\/(jobs(\/|$)|new-job)/.test(location) },
    { to: paths.runs(project), text: t('nav.runs'), on: /^\/projects\/[^/]+\/runs(\/|$)/.test(location) },
    { to: paths.schedulers(), text: t('nav.schedulers'), on: /^\/schedulers(\/|$)/.test(location) },
  ];
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {t('nav.skip')}
      </a>
      <header className="top">
        <Link href={paths.jobs(project)} className="brand" aria-label={t('nav.home')}>
          <Mark />
          <span>Carillon</span>
        </Link>
        <ProjectSelect project={project} />
        <nav aria-label={t('nav.label')} className="top-nav">
          {nav.map((item) => (
            <Link key={item.to} href={item.to} aria-current={item.on ? 'page' : undefined}>
              {item.text}
            </Link>
          ))}
        </nav>
        <SettingsMenu />
      </header>
      <main id="main" tabIndex={-1}>
        <NotReady />
        {children}
      </main>
      <footer className="foot">
        {localZone() === 'UTC' ? (
          <span className="muted">{t('clock.only')}</span>
        ) : (
          <button type="button" className="link" onClick={() => changeSettings({ clock: clock === 'utc' ? 'local' : 'utc' })}>
            {clock === 'utc' ? t('clock.utc') : t('clock.local', { zone: localZone() })}
          </button>
        )}
        <a href="/licenses.txt">{t('nav.licenses')}</a>
      </footer>
    </div>
  );
}

/** What is asked for is kept, but nothing is fired: better said than wondered about. */
function NotReady() {
  const { t } = useTranslation();
  const word = useWord();
  const reason = useUnreadiness().data;
  return (
    <div role="status">
      {reason && (
        <p className="not-ready">
          <Icon name="warn" /> {t('ready.not', { reason: word('unready', reason) })}
        </p>
      )}
    </div>
  );
}

function ProjectSelect({ project }: { project: string }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const query = useProjects();
  const names = (query.data?.items ?? []).map(projectName).filter(Boolean);
  if (!names.includes(project)) names.unshift(project);
  return (
    <label className="project">
      <span className="sr-only">{t('nav.project')}</span>
      <select value={project} onChange={(event) => go(paths.jobs(event.target.value))}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function SettingsMenu() {
  const { t, i18n } = useTranslation();
  const word = useWord();
  const { theme, clock } = useSettings();
  const who = useWhoAmI();
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      box.current?.querySelector('button')?.focus();
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    document.addEventListener('keydown', escape);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
      document.removeEventListener('keydown', escape);
    };
  }, [open]);

  return (
    <div className="settings" ref={box}>
      <Button look="ghost" icon="settings" aria-expanded={open} aria-controls="settings" onClick={() => setOpen(!open)}>
        {t('settings.title')}
      </Button>
      {open && (
        <div id="settings" className="settings-box" role="group" aria-label={t('settings.title')}>
          <Choice
            label={t('settings.theme')}
            value={theme}
            options={(['auto', 'light', 'dark'] as Theme[]).map((value) => [value, t(`settings.${value}`)])}
            onChange={(value) => changeSettings({ theme: value as Theme })}
          />
          <Choice
            label={t('settings.clock')}
            value={clock}
            options={[
              ['local', localZone()],
              ['utc', 'UTC'],
            ]}
            onChange={(value) => changeSettings({ clock: value === 'utc' ? 'utc' : 'local' })}
          />
          <label className="settings-language">
            <span>{t('settings.language')}</span>
            <select value={i18n.language} onChange={(event) => void chooseLanguage(event.target.value as Language)}>
              {Object.entries(LANGUAGES).map(([tag, name]) => (
                <option key={tag} value={tag} lang={tag}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          {who.data && (
            <p className="hint">
              {t('settings.who', { name: who.data.name, role: word('role', who.data.role) })}
              {who.data.version && <> · Carillon {who.data.version}</>}
            </p>
          )}
          {who.data?.role === 'admin' && (
            <Link href={paths.tokens()} onClick={() => setOpen(false)}>
              {t('tokens.title')}
            </Link>
          )}
          <Button onClick={() => session.end()}>{t('settings.signout')}</Button>
        </div>
      )}
    </div>
  );
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <fieldset className="choice">
      <legend>{label}</legend>
      <div className="choice-row">
        {options.map(([key, text]) => (
          <label key={key} className={key === value ? 'on' : undefined}>
            <input type="radio" name={`choice-${label}`} value={key} checked={key === value} onChange={() => onChange(key)} />
            {key === value && <Icon name="good" size={12} />}
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
