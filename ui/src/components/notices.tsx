// What just happened: short notices on screen, and a polite live region for those who do not see them.
import { createContext, useCallback, useContext, useMemo, useRef, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './basics';
import { Icon } from './icons';

interface Notice {
  id: number;
  tone: 'good' | 'bad';
  text: ReactNode;
}

interface Notices {
  notify: (tone: Notice['tone'], text: ReactNode) => void;
  /** Said aloud by a screen reader, not shown. */
  announce: (text: string) => void;
}

const Context = createContext<Notices>({ notify: () => undefined, announce: () => undefined });

export const useNotices = (): Notices => useContext(Context);

const STAYS_MS = 8_000;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const [notices, setNotices] = useState<Notice[]>([]);
  const [spoken, setSpoken] = useState('');
  const last = useRef(0);

  const close = useCallback((id: number) => setNotices((list) => list.filter((notice) => notice.id !== id)), []);
  const notify = useCallback(
    (tone: Notice['tone'], text: ReactNode) => {
      const id = ++last.current;
      setNotices((list) => [...list.slice(-3), { id, tone, text }]);
      if (tone === 'good') setTimeout(() => close(id), STAYS_MS); // bad news stays until read
    },
    [close],
  );
  const value = useMemo(() => ({ notify, announce: setSpoken }), [notify]);

  return (
    <Context.Provider value={value}>
      {children}
      <div className="sr-only" aria-live="polite" aria-atomic="true" data-testid="announcer">
        {spoken}
      </div>
      <div className="notices" role="status">
        {notices.map((notice) => (
          <div key={notice.id} className={`notice tone-${notice.tone}`}>
            <Icon name={notice.tone} />
            <div className="notice-text">{notice.text}</div>
            <Button look="ghost" small icon="close" iconOnly onClick={() => close(notice.id)}>
              {t('action.close')}
            </Button>
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}
