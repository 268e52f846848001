import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { headOf } from '../app/visible';
import { Button } from './basics';
import { Visible } from './prose';

/** Text as it is, to read (what acts is shown by its number) and to copy (exactly). Focusable, so that it scrolls by keyboard. */
export function Code({ text, label, limit, note, tall = false }: { text: string; label: string; limit?: number; note?: string; tall?: boolean }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const cut = limit !== undefined && !all && text.length > limit;
  return (
    <div className={tall ? 'code tall' : 'code'}>
      <CopyButton text={text} />
      <pre tabIndex={0} role="region" aria-label={label}>
        <Visible text={cut ? `${headOf(text, limit)}…` : text} />
      </pre>
      {note && <p className="hint">{note}</p>}
      {cut && (
        <Button small look="ghost" onClick={() => setAll(true)}>
          {t('code.all', { n: text.length })}
        </Button>
      )}
    </div>
  );
}

export function CopyButton({ text }: { text: string }) {
  const { t } = useTranslation();
  const [done, setDone] = useState(false);
  const copy = (): void => {
    // Without a secure context there is no clipboard; the text can still be selected.
    void navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    });
  };
  if (typeof navigator === 'undefined' || !navigator.clipboard) return null;
  return (
    <Button small look="ghost" icon={done ? 'good' : 'copy'} iconOnly className="copy" onClick={copy}>
      {done ? t('code.copied') : t('code.copy')}
    </Button>
  );
}
