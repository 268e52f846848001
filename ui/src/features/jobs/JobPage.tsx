import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { useJob, useJobStatus, useMay, useRun, useRuns, useSchedulers } from '../../api/queries';
import { isOpen } from '../../api/states';
import type { JobDocument, JobStatus } from '../../api/types';
import { stringify } from '../../app/lossless';
import { paths } from '../../app/paths';
import { usePage } from '../../app/usePage';
import { Answer } from '../../components/answer';
import { Button, Card, PageHead } from '../../components/basics';
import { Icon } from '../../components/icons';
import { useNotices } from '../../components/notices';
import { Prose } from '../../components/prose';
import { State } from '../../components/state';
import { Ago } from '../../components/time';
import { JobGraph } from '../graph/JobGraph';
import { stepsOfGraph } from '../graph/model';
import { LedgerTab } from '../ledger/LedgerTab';
import { PealStrip } from '../runs/PealStrip';
import { RunsList } from '../runs/RunsList';
import { DefinitionTab } from './DefinitionTab';
import { MoveDialog } from './MoveDialog';
import { Policies } from './Policies';
import { RunDialog } from './RunDialog';
import { Triggers } from './Triggers';
import { Why } from './Why';
import { useJobActions } from './useJobActions';
import { useWord } from '../../components/words';

const TABS = ['overview', 'runs', 'ledger', 'definition'] as const;
const RECENT = 30;
const SHORT = 120; // characters of what stands in a line

export function JobPage({ project, job, tab }: { project: string; job: string; tab: string }) {
  const { t } = useTranslation();
  const query = useJob(project, job);
  const status = useJobStatus(project, job);
  const actions = useJobActions(project);
  const [running, setRunning] = useState(false);
  const [moving, setMoving] = useState(false);
  const nodes = useSchedulers().data?.items ?? [];
  const movable = useMay('operator') && nodes.filter((node) => node.state !== 'down').length > 1;
  const shown = TABS.includes(tab as (typeof TABS)[number]) ? tab : 'overview';
  usePage(`${job} – ${t(`tab.${shown}`)}`);

  // A new version arrived: the document on screen is old.
  const version = status.data?.version;
  const known = query.data?.document.metadata.version ?? query.data?.document.status?.version;
  const refetch = query.refetch;
  useEffect(() => {
    if (version !== undefined && known !== undefined && String(version) !== String(known)) void refetch();
  }, [version, known, refetch]);

  const now = status.data ?? query.data?.document.status;
  return (
    <>
      <PageHead
        kicker={
          <Link href={paths.jobs(project)}>
            {project} / {t('jobs.title')}
          </Link>
        }
        title={job}
        actions={
          <>
            <Button look="main" icon="play" onClick={() => setRunning(true)}>
              {t('action.runnow')}
            </Button>
            {now && (
              <Button icon={now.paused ? 'play' : 'pause'} disabled={actions.busy} onClick={() => actions.setPaused([job], !now.paused)}>
                {t(now.paused ? 'action.resume' : 'action.pause')}
              </Button>
            )}
            {movable && (
              <Button icon="arrow" onClick={() => setMoving(true)}>
                {t('move.moveto')}
              </Button>
            )}
            <Link href={paths.editJob(project, job)} className="button">
              <Icon name="edit" />
              <span>{t('action.edit')}</span>
            </Link>
          </>
        }
      >
        {query.data?.document.metadata.description && (
          <p className="lead">
            <Prose text={query.data.document.metadata.description} />
          </p>
        )}
        {now && <HeadLine status={now} owner={query.data?.document.metadata.owner} version={version ?? known} />}
      </PageHead>
      <nav className="tabs" aria-label={t('tab.label')}>
        {TABS.map((name) => (
          <Link key={name} href={paths.job(project, job, name)} aria-current={name === shown ? 'page' : undefined}>
            {t(`tab.${name}`)}
          </Link>
        ))}
      </nav>
      {shown === 'runs' && <RunsList project={project} job={job} />}
      {shown === 'ledger' && <LedgerTab project={project} job={job} />}
      {(shown === 'overview' || shown === 'definition') && (
        <Answer query={query} rows={6}>
          {(answer) =>
            shown === 'definition' ? (
              <DefinitionTab project={project} job={job} text={answer.text} />
            ) : (
              <Overview project={project} job={job} document={answer.document} status={now} />
            )
          }
        </Answer>
      )}
      {moving && <MoveDialog project={project} job={job} owner={now?.owner_node} onClose={() => setMoving(false)} />}
      {running && (
        <RunDialog
          project={project}
          job={job}
          busyNow={(now?.running ?? 0) > 0}
          defaults={query.data?.document.spec.params ? stringify(query.data.document.spec.params) : undefined}
          onClose={() => setRunning(false)}
        />
      )}
    </>
  );
}

function HeadLine({ status, owner, version }: { status: JobStatus; owner?: string | null; version?: string | number }) {
  const { t } = useTranslation();
  return (
    <p className="head-line">
      <State state={status.state} />
      <span>
        {status.owner_node ? (
          <>
            {t('job.heldby')}{' '}
            <Link href={paths.scheduler(status.owner_node)} className="mono">
              {status.owner_node}
            </Link>
            {status.owner_since && (
              <span className="muted">
                {' '}
                {t('why.since')} <Ago value={status.owner_since} />
              </span>
            )}
          </>
        ) : (
          t('job.unowned')
        )}
      </span>
      {status.next_at && (
        <span>
          {t('job.next')} <Ago value={status.next_at} ahead />
        </span>
      )}
      {owner && (
        <span>
          <Prose text={t('job.ownedby', { owner })} limit={SHORT} />
        </span>
      )}
      {version !== undefined && <span className="muted">{t('job.version', { version: String(version) })}</span>}
    </p>
  );
}

function Overview({ project, job, document, status }: { project: string; job: string; document: JobDocument; status?: JobStatus }) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const runs = useRuns(project, { job, limit: RECENT }, true);
  const chosen = params.get('run');
  const latest = runs.data?.items[0]?.id ?? null;
  const id = chosen ?? latest;
  const run = useRun(project, id);
  const steps = stepsOfGraph(document.spec.graph);
  useRunNews(run.data?.id, run.data?.state);

  const choose = (value: string | null): void =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      if (value) next.set('run', value);
      else next.delete('run');
      return next;
    }, { replace: true });

  return (
    <div className="overview">
      <div className="overview-main">
        <Card
          title={t('job.graph')}
          actions={
            run.data && (
              <span className="graph-run">
                <State state={run.data.state} quiet />
                <Link href={paths.run(project, run.data.id)}>{t(chosen ? 'job.showschosen' : 'job.showslatest', { id: run.data.id })}</Link>
                {chosen && (
                  <Button small look="ghost" onClick={() => choose(null)}>
                    {t('job.follow')}
                  </Button>
                )}
              </span>
            )
          }
        >
          <JobGraph steps={steps} run={run.data?.steps} live={run.data ? isOpen(run.data.state) : false} />
          <Answer query={runs} rows={1}>
            {(page) => <PealStrip project={project} runs={page.items} selected={id} onSelect={choose} />}
          </Answer>
        </Card>
        <Card title={t('job.recent')} actions={<Link href={paths.job(project, job, 'runs')}>{t('job.allruns')}</Link>}>
          <RunsList project={project} job={job} recent />
        </Card>
      </div>
      <div className="overview-side">
        <Triggers project={project} job={job} status={status} specs={document.spec.triggers ?? []} />
        <Why project={project} job={job} />
        <Policies spec={document.spec} metadata={document.metadata} />
      </div>
    </div>
  );
}

/** Says aloud when the run on screen changes its state. */
export function useRunNews(id: string | undefined, state: string | undefined): void {
  const { t } = useTranslation();
  const word = useWord();
  const { announce } = useNotices();
  const before = useRef<{ id?: string; state?: string }>({});
  useEffect(() => {
    const old = before.current;
    before.current = { id, state };
    if (!id || !state || (old.id === id && old.state === state) || old.id === undefined) return;
    announce(t('run.news', { id, state: word('state', state) }));
  }, [id, state, announce, t]);
}
