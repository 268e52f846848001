// Drain, bring back, forget: asked for on the list and on a node's page, and confirmed in the same words.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SchedulerVerb } from '../../api/carillon';
import { useMay, useSchedulersVerb } from '../../api/queries';
import type { Scheduler } from '../../api/types';
import { useErrorText } from '../../components/answer';
import { Button } from '../../components/basics';
import { Confirm } from '../../components/dialog';
import { useNotices } from '../../components/notices';
import { useBatchReport } from '../jobs/useJobActions';

/** What may be asked of a node in its state. */
const VERBS: Record<string, SchedulerVerb[]> = {
  working: ['drain'],
  draining: ['online'],
  offline: ['online'],
  down: ['forget'],
};

const ICONS: Record<SchedulerVerb, string> = { drain: 'pause', online: 'play', forget: 'close' };

/** A process that is scheduler and orchestrator in one has nobody to hand its jobs to. */
export function isAlone(nodes: Scheduler[]): boolean {
  const alive = nodes.filter((node) => node.state !== 'down');
  return alive.length === 1 && alive[0]?.role === 'standalone';
}

export function SchedulerActions({ node, others, small = false }: { node: Scheduler; others: Scheduler[]; small?: boolean }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState<SchedulerVerb | null>(null);
  const verb = useSchedulersVerb();
  const report = useBatchReport();
  const { notify } = useNotices();
  const errorText = useErrorText();
  const may = useMay('admin');
  const last = !others.some((each) => each.node !== node.node && each.state === 'working');

  const send = (name: SchedulerVerb): void =>
    verb.mutate(
      { verb: name, node: node.node },
      {
        onSuccess: (batch) => report(batch, () => t(`schedulers.done${name}`, { node: node.node })),
        onError: (error) => notify('bad', errorText(error)),
        onSettled: () => setAsking(null),
      },
    );

  if (!may) return null;
  return (
    <>
      {(VERBS[node.state] ?? []).filter((name) => name !== 'drain' || !isAlone(others)).map((name) => (
        <Button
          key={name}
          small={small}
          icon={ICONS[name]}
          busy={verb.isPending}
          aria-label={small ? t(`schedulers.${name}one`, { node: node.node }) : undefined}
          onClick={() => (name === 'online' ? send(name) : setAsking(name))}
        >
          {t(`schedulers.${name}`)}
        </Button>
      ))}
      {asking && (
        <Confirm
          title={t(`schedulers.${asking}title`, { node: node.node })}
          text={
            <>
              {t(`schedulers.${asking}text`)}
              {asking === 'drain' && last && <strong className="block">{t('schedulers.drainlast')}</strong>}
            </>
          }
          action={t(`schedulers.${asking}`)}
          busy={verb.isPending}
          onConfirm={() => send(asking)}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}
