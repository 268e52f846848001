// Run, pause, resume: one way to do them, from the list and from the page, for one job or many.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Batch } from '../../api/types';
import { errorFromItem } from '../../api/error';
import { useJobsVerb, useTriggersVerb } from '../../api/queries';
import { paths } from '../../app/paths';
import { useErrorText } from '../../components/answer';
import { useNotices } from '../../components/notices';

export function useBatchReport(): (batch: Batch, done: (count: number) => React.ReactNode) => void {
  const { notify } = useNotices();
  return (batch, done) => {
    const good = batch.items.filter((item) => item.ok);
    if (good.length > 0) notify('good', done(good.length));
    for (const item of batch.items) {
      if (!item.ok) notify('bad', `${item.key}: ${item.error?.message ?? item.error?.code ?? ''}`);
    }
  };
}

/** The first few names, for a sentence. */
function some(names: string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ', …' : '');
}

export function useJobActions(project: string) {
  const { t } = useTranslation();
  const verb = useJobsVerb(project);
  const triggers = useTriggersVerb(project);
  const report = useBatchReport();
  const { notify } = useNotices();
  const errorText = useErrorText();
  const failed = (error: unknown): void => notify('bad', errorText(error));

  return {
    busy: verb.isPending || triggers.isPending,
    setPaused: (names: string[], paused: boolean) =>
      verb.mutate(
        { verb: paused ? 'pause' : 'resume', names },
        {
          onSuccess: (batch) => report(batch, (count) => t(paused ? 'done.paused' : 'done.resumed', { count, name: some(names) })),
          onError: failed,
        },
      ),
    setTriggerPaused: (job: string, trigger: string, paused: boolean) =>
      triggers.mutate(
        { verb: paused ? 'pause' : 'resume', keys: [{ job, trigger }] },
        {
          onSuccess: (batch) => report(batch, () => t(paused ? 'done.triggerpaused' : 'done.triggerresumed', { trigger })),
          onError: failed,
        },
      ),
    /** `queue`: wait for its turn when the job is busy. */
    run: (names: string[], queue: boolean, params?: string, after?: { onDone?: () => void; onError?: (error: unknown) => void }) =>
      verb.mutate(
        { verb: queue ? 'enqueue' : 'run', names, params },
        {
          onSuccess: (batch) => {
            const only = batch.items.length === 1 ? batch.items[0] : undefined;
            if (only && !only.ok && after?.onError) return after.onError(errorFromItem(only));
            report(batch, (count) => {
              const first = batch.items.find((item) => item.ok);
              const run = first?.result?.run;
              return (
                <>
                  {t('done.run', { count, name: some(names) })}{' '}
                  {count === 1 && run && <Link href={paths.run(project, run)}>{t('done.show')}</Link>}
                </>
              );
            });
            after?.onDone?.();
          },
          onError: after?.onError ?? failed,
        },
      ),
  };
}
