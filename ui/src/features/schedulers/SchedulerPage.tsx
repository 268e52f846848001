// One scheduler: its state, what a drain waits for, and the jobs it holds.
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { useScheduler, useSchedulerJobs, useSchedulers } from '../../api/queries';
import type { HeldJob, Scheduler } from '../../api/types';
import { paths } from '../../app/paths';
import { usePage } from '../../app/usePage';
import { Answer, Empty } from '../../components/answer';
import { Card, Facts, PageHead } from '../../components/basics';
import { Pager } from '../../components/pager';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Ago, Span, Time } from '../../components/time';
import { Load, loadOf } from './Load';
import { Since } from './SchedulersPage';
import { SchedulerActions } from './useSchedulerActions';

const LIMIT = 50;

export function SchedulerPage({ node: name }: { node: string }) {
  const { t } = useTranslation();
  const query = useSchedulers();
  const nodes = query.data?.items ?? [];
  const node = nodes.find((each) => each.node === name);
  usePage(t('schedulers.one', { node: name }));
  return (
    <>
      <PageHead
        kicker={<Link href={paths.schedulers()}>{t('schedulers.title')}</Link>}
        title={name}
        actions={node && <SchedulerActions node={node} others={nodes} />}
      >
        {node && (
          <p className="head-line">
            <State state={node.state} />
            <span>
              <Since node={node} />
            </span>
          </p>
        )}
      </PageHead>
      <Answer query={query} rows={4}>
        {() =>
          node ? (
            <div className="overview">
              <div className="overview-main">
                {node.state === 'draining' && <Waits node={node} />}
                <Card title={t('schedulers.itsjobs')}>
                  <HeldJobs node={name} />
                </Card>
                <Driven node={name} />
              </div>
              <div className="overview-side">
                <NodeFacts node={node} />
              </div>
            </div>
          ) : (
            <Empty title={t('schedulers.unknown', { node: name })} actions={<Link href={paths.schedulers()} className="button">{t('schedulers.all')}</Link>}>
              <p>{t('schedulers.unknowntext')}</p>
            </Empty>
          )
        }
      </Answer>
    </>
  );
}

function Waits({ node }: { node: Scheduler }) {
  const { t } = useTranslation();
  const slots = node.waits_for?.slots ?? node.slots ?? 0;
  const runs = node.waits_for?.total ?? node.runs ?? 0;
  return (
    <p className="reason" role="status">
      {slots > 0 && <>{t('schedulers.waitsslots', { count: slots })} </>}
      {runs > 0 && t('schedulers.waitsruns', { count: runs })}
    </p>
  );
}

/** The runs that it drives: what a drain waits for. None, no card. */
function Driven({ node }: { node: string }) {
  const { t } = useTranslation();
  const runs = useScheduler(node).data?.running ?? [];
  if (runs.length === 0) return null;
  const columns: Column<(typeof runs)[number]>[] = [
    {
      key: 'run',
      head: t('runs.run'),
      main: true,
      cell: (run) => (
        <Link href={paths.run(run.project ?? '', run.run)} className="row-name mono">
          {run.run}
        </Link>
      ),
    },
    { key: 'job', head: t('runs.job'), cell: (run) => <Link href={paths.job(run.project ?? '', run.job ?? '')}>{`${run.project} / ${run.job}`}</Link> },
    { key: 'state', head: t('runs.state'), cell: (run) => <State state={run.state} quiet /> },
    { key: 'took', head: t('runs.took'), cell: (run) => <Span from={run.fired_at} /> },
  ];
  return (
    <Card title={t('schedulers.runs')}>
      <Table caption={t('schedulers.runs')} columns={columns} rows={runs} rowKey={(run) => run.run} />
    </Card>
  );
}

function NodeFacts({ node }: { node: Scheduler }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  return (
    <Card title={t('schedulers.facts')}>
      <Facts
        items={[
          [t('schedulers.address'), node.address && <span className="mono">{node.address}</span>],
          [t('schedulers.jobs'), <Load node={node} />],
          [t('schedulers.capacity'), loadOf(node) === null && t('schedulers.nolimit')],
          [t('schedulers.slots'), number.format(node.slots ?? 0)],
          [t('schedulers.runs'), node.runs !== undefined && number.format(node.runs)],
          [t('schedulers.pool'), node.pool],
          [t('schedulers.weight'), node.weight !== undefined && node.weight !== null && number.format(node.weight)],
          [t('schedulers.asked'), node.wish_by && <>{node.wish_by} · <Ago value={node.wish_at} /></>],
          [t('schedulers.started'), <Time value={node.started_at} />],
          [t('schedulers.seen'), <Ago value={node.seen_at} />],
          [t('run.version'), node.version],
          [t('schedulers.boot'), node.boot && <span className="mono">{node.boot}</span>],
        ]}
      />
    </Card>
  );
}

function HeldJobs({ node }: { node: string }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  const [params, setParams] = useSearchParams();
  const skip = Math.max(0, Number(params.get('skip') ?? 0) || 0);
  const query = useSchedulerJobs(node, { skip, limit: LIMIT });
  const columns: Column<HeldJob>[] = [
    {
      key: 'job',
      head: t('jobs.job'),
      main: true,
      cell: (job) => (
        <Link href={paths.job(job.project, job.name)} className="row-name">
          {job.project} / {job.name}
        </Link>
      ),
    },
    { key: 'state', head: t('jobs.state'), cell: (job) => job.state && <State state={job.state} quiet /> },
    { key: 'running', head: t('schedulers.runs'), className: 'col-number', cell: (job) => number.format(job.running ?? 0) },
    { key: 'since', head: t('schedulers.heldsince'), cell: (job) => <Ago value={job.since} /> },
    { key: 'slot', head: t('why.slot'), className: 'col-number', cell: (job) => <span className="mono">{String(job.slot ?? '–')}</span> },
  ];
  return (
    <Answer query={query} rows={4}>
      {(page) =>
        page.items.length === 0 ? (
          <p className="muted">{t('schedulers.nojobs')}</p>
        ) : (
          <>
            <Table caption={t('schedulers.itsjobs')} columns={columns} rows={page.items} rowKey={(job) => `${job.project}/${job.name}`} rowClass={(job) => (job.state === 'active' ? undefined : 'dim')} />
            <Pager skip={skip} limit={LIMIT} total={page.total} shown={page.items.length} onSkip={(value) => setParams(value ? { skip: String(value) } : {})} />
          </>
        )
      }
    </Answer>
  );
}
