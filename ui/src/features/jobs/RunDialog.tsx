import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { JsonSyntaxError, parseJson } from '../../app/jsontext';
import { ErrorPanel } from '../../components/answer';
import { Button, Field } from '../../components/basics';
import { Dialog } from '../../components/dialog';
import { useJobActions } from './useJobActions';

export function RunDialog({ project, job, busyNow, defaults, onClose }: { project: string; job: string; busyNow?: boolean; defaults?: string; onClose: () => void }) {
  const { t } = useTranslation();
  const actions = useJobActions(project);
  const [params, setParams] = useState('');
  const [queue, setQueue] = useState(true);
  const [fault, setFault] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);

  const run = (): void => {
    setError(null);
    const text = params.trim();
    if (text !== '') {
      try {
        if (parseJson(text).kind !== 'object') {
          setFault(t('rundialog.notobject'));
          return;
        }
      } catch (reason) {
        setFault(reason instanceof JsonSyntaxError ? t('json.fault', { line: reason.line, column: reason.column }) : String(reason));
        return;
      }
    }
    setFault(null);
    actions.run([job], queue, text, { onDone: onClose, onError: setError });
  };

  return (
    <Dialog
      title={t('rundialog.title', { name: job })}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button look="main" icon="play" busy={actions.busy} onClick={run}>
            {t('rundialog.run')}
          </Button>
        </>
      }
    >
      {busyNow && <p className="hint">{t('rundialog.busy')}</p>}
      <Field label={t('rundialog.params')} hint={t('rundialog.paramshint')} error={fault}>
        {({ id, describedBy }) => (
          <textarea
            id={id}
            className="mono"
            rows={6}
            spellCheck={false}
            autoFocus
            value={params}
            placeholder={defaults || '{}'}
            aria-describedby={describedBy}
            aria-invalid={fault !== null}
            onChange={(event) => setParams(event.target.value)}
          />
        )}
      </Field>
      <label className="check">
        <input type="checkbox" checked={queue} onChange={(event) => setQueue(event.target.checked)} />
        <span>{t('rundialog.queue')}</span>
      </label>
      {error !== null && <ErrorPanel error={error} />}
    </Dialog>
  );
}
