// Who fires the jobs: every scheduler that is known, what it holds, and what may be asked of it.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useSchedulers } from '../../api/queries';
import type { Scheduler } from '../../api/types';
import { paths } from '../../app/paths';
import { usePage } from '../../app/usePage';
import { Answer, Empty } from '../../components/answer';
import { PageHead } from '../../components/basics';
import { Icon } from '../../components/icons';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Ago } from '../../components/time';
import { Load } from './Load';
import { SchedulerActions, isAlone } from './useSchedulerActions';

export function SchedulersPage() {
  const { t } = useTranslation();
  const query = useSchedulers();
  usePage(t('schedulers.title'));
  return (
    <>
      <PageHead title={t('schedulers.title')}>
        <p className="lead">{t('schedulers.text')}</p>
      </PageHead>
      <Answer query={query} rows={3}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title={t('schedulers.empty')}>
              <p>{t('schedulers.emptytext')}</p>
              <p>
                <code>carillon scheduler --set store.url=… --set coordination.url=…</code>
              </p>
            </Empty>
          ) : (
            <Nodes nodes={page.items} />
          )
        }
      </Answer>
    </>
  );
}

function Nodes({ nodes }: { nodes: Scheduler[] }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  const alone = isAlone(nodes);
  const nobody = !nodes.some((node) => node.state === 'working');
  const some = (has: (node: Scheduler) => unknown): boolean => nodes.some((node) => Boolean(has(node)));
  const columns: (Column<Scheduler> | false)[] = [
    {
      key: 'node',
      head: t('schedulers.node'),
      main: true,
      cell: (node) => (
        <>
          <Link href={paths.scheduler(node.node)} className="row-name mono">
            {node.node}
          </Link>
          <span className="row-note mono">{node.address}</span>
        </>
      ),
    },
    {
      key: 'state',
      head: t('schedulers.state'),
      cell: (node) => (
        <span className="stack">
          <State state={node.state} quiet />
          <span className="muted small">
            <Since node={node} />
          </span>
        </span>
      ),
    },
    some((node) => node.pool) && { key: 'pool', head: t('schedulers.pool'), cell: (node) => node.pool || <span className="muted">–</span> },
    some((node) => (node.weight ?? 1) !== 1) && { key: 'weight', head: t('schedulers.weight'), className: 'col-number', cell: (node) => number.format(node.weight ?? 1) },
    { key: 'jobs', head: t('schedulers.jobs'), className: 'col-load', cell: (node) => <Load node={node} /> },
    { key: 'slots', head: t('schedulers.slots'), className: 'col-number', cell: (node) => number.format(node.slots ?? 0) },
    some((node) => node.runs !== undefined) && { key: 'runs', head: t('schedulers.runs'), className: 'col-number', cell: (node) => number.format(node.runs ?? 0) },
    !(alone && nodes.length === 1 && !nobody) && {
      key: 'actions',
      head: t('jobs.actions'),
      headHidden: true,
      className: 'col-actions',
      cell: (node) => (
        <div className="row-actions">
          <SchedulerActions node={node} others={nodes} small />
        </div>
      ),
    },
  ];
  return (
    <>
      {nobody && (
        <p className="not-ready" role="status">
          <Icon name="warn" /> {t('schedulers.nobody')}
        </p>
      )}
      <Table caption={t('schedulers.title')} columns={columns.filter((column) => column !== false)} rows={nodes} rowKey={(node) => `${node.node}.${node.boot ?? ''}`} rowClass={(node) => (node.state === 'down' ? 'dim' : undefined)} />
      {alone && <p className="hint after-table">{t('schedulers.alone')}</p>}
    </>
  );
}

/** Since when it is as it is: a node that is gone was last seen then, another was started or told so. */
export function Since({ node }: { node: Scheduler }) {
  const { t } = useTranslation();
  return node.state === 'down' ? (
    <>
      {t('schedulers.lastseen')} <Ago value={node.seen_at} />
    </>
  ) : (
    <>
      {t('why.since')} <Ago value={node.state === 'working' ? node.started_at : (node.wish_at ?? node.started_at)} />
    </>
  );
}
