import { useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { useJobs } from '../../api/queries';
import type { JobStatus } from '../../api/types';
import { paths } from '../../app/paths';
import { headOf } from '../../app/visible';
import { usePage } from '../../app/usePage';
import { Answer, Empty } from '../../components/answer';
import { Button, PageHead } from '../../components/basics';
import { Code } from '../../components/code';
import { Icon } from '../../components/icons';
import { Pager } from '../../components/pager';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Ago } from '../../components/time';
import { RunDialog } from './RunDialog';
import { ScheduleLine } from './schedule';
import { SHORTEST_YAML } from './samples';
import { useJobActions } from './useJobActions';

const LIMIT = 50;
const NOTE = 200; // characters of a description; the line shows what fits
const JOB_STATES = ['active', 'paused', 'suspended'];

export function JobsPage({ project }: { project: string }) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const q = params.get('q') ?? '';
  const skip = Math.max(0, Number(params.get('skip') ?? 0) || 0);
  const state = params.get('state') ?? '';
  const query = useJobs(project, { q: q || undefined, state: state || undefined, skip, limit: LIMIT });
  const actions = useJobActions(project);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [running, setRunning] = useState<JobStatus | null>(null);
  usePage(t('jobs.title'));

  const setSkip = (value: number): void => setParams((old) => withParam(old, 'skip', value ? String(value) : ''));
  const filter = (key: string, value: string): void =>
    setParams((old) => withParam(withParam(old, key, value), 'skip', ''), { replace: true });
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };

  const columns: Column<JobStatus>[] = [
    {
      key: 'choose',
      head: t('jobs.choose'),
      headHidden: true,
      className: 'col-choose',
      cell: (job) => (
        <input type="checkbox" checked={chosen.has(job.name)} onChange={() => toggle(job.name)} aria-label={t('jobs.chooseone', { name: job.name })} />
      ),
    },
    {
      key: 'name',
      head: t('jobs.job'),
      main: true,
      className: 'col-job',
      cell: (job) => (
        <>
          <Link href={paths.job(project, job.name)} className="row-name">
            {job.name}
          </Link>
          {job.description && <span className="row-note">{headOf(job.description, NOTE)}</span>}
        </>
      ),
    },
    {
      key: 'state',
      head: t('jobs.state'),
      cell: (job) => (
        <span className="stack">
          <State state={job.state} quiet />
          {(job.running ?? 0) > 0 && <span className="badge quiet tone-busy"><Icon name="busy" size={14} /><span>{t('jobs.running', { n: job.running })}</span></span>}
        </span>
      ),
    },
    { key: 'schedule', head: t('jobs.schedule'), className: 'col-schedule', cell: (job) => <Schedules job={job} /> },
    { key: 'next', head: t('jobs.next'), cell: (job) => <Ago value={job.next_at} ahead /> },
    {
      key: 'last',
      head: t('jobs.last'),
      cell: (job) =>
        job.last_run ? (
          <Link href={paths.run(project, job.last_run.id)} className="stack plain-link">
            <State state={job.last_run.state} quiet />
            <span className="muted small">
              <Ago value={job.last_run.ended_at ?? job.last_run.scheduled_at} />
            </span>
          </Link>
        ) : (
          <span className="muted">{t('jobs.never')}</span>
        ),
    },
    {
      key: 'owner',
      head: t('jobs.owner'),
      cell: (job) => (job.owner_node ? <Link href={paths.scheduler(job.owner_node)} className="mono">{job.owner_node}</Link> : <span className="muted">{t('jobs.noowner')}</span>),
    },
    {
      key: 'actions',
      head: t('jobs.actions'),
      headHidden: true,
      className: 'col-actions',
      cell: (job) => (
        <div className="row-actions">
          <Button small icon="play" aria-label={t('jobs.runone', { name: job.name })} onClick={() => setRunning(job)}>
            {t('action.run')}
          </Button>
          <Button
            small
            look="ghost"
            icon={job.paused ? 'play' : 'pause'}
            aria-label={t(job.paused ? 'jobs.resumeone' : 'jobs.pauseone', { name: job.name })}
            disabled={actions.busy}
            onClick={() => actions.setPaused([job.name], !job.paused)}
          >
            {t(job.paused ? 'action.resume' : 'action.pause')}
          </Button>
        </div>
      ),
    },
  ];

  return (
    <>
      <PageHead
        title={t('jobs.title')}
        actions={
          <Link href={paths.newJob(project)} className="button look-main">
            <Icon name="plus" />
            <span>{t('jobs.new')}</span>
          </Link>
        }
      />
      <div className="toolbar">
        <SearchBox value={q} onChange={(value) => filter('q', value)} label={t('jobs.search')} />
        <label>
          <span>{t('jobs.state')}</span>
          <select value={state} onChange={(event) => filter('state', event.target.value)}>
            <option value="">{t('runs.anystate')}</option>
            {JOB_STATES.map((name) => (
              <option key={name} value={name}>
                {t(`state.${name}`)}
              </option>
            ))}
          </select>
        </label>
        {chosen.size > 0 && (
          <div className="bulk" role="group" aria-label={t('jobs.bulk', { count: chosen.size })}>
            <span role="status">{t('jobs.bulk', { count: chosen.size })}</span>
            <Button small icon="play" disabled={actions.busy} onClick={() => actions.run([...chosen], true)}>
              {t('action.run')}
            </Button>
            <Button small icon="pause" disabled={actions.busy} onClick={() => actions.setPaused([...chosen], true)}>
              {t('action.pause')}
            </Button>
            <Button small disabled={actions.busy} onClick={() => actions.setPaused([...chosen], false)}>
              {t('action.resume')}
            </Button>
            <Button small look="ghost" onClick={() => setChosen(new Set())}>
              {t('jobs.unchoose')}
            </Button>
          </div>
        )}
      </div>
      <Answer query={query} rows={6}>
        {(page) =>
          page.items.length === 0 ? (
            q || state || skip > 0 ? (
              <Empty title={t('jobs.nomatch')} actions={<Button onClick={() => setParams({})}>{t('jobs.all')}</Button>} />
            ) : (
              <NoJobs project={project} />
            )
          ) : (
            <>
              <Table caption={t('jobs.title')} columns={columns} rows={page.items} rowKey={(job) => job.name} rowClass={(job) => (job.paused ? 'dim' : undefined)} />
              <Pager skip={skip} limit={LIMIT} total={page.total} shown={page.items.length} onSkip={setSkip} />
            </>
          )
        }
      </Answer>
      {running && <RunDialog project={project} job={running.name} busyNow={(running.running ?? 0) > 0} onClose={() => setRunning(null)} />}
    </>
  );
}

function withParam(params: URLSearchParams, key: string, value: string): URLSearchParams {
  const next = new URLSearchParams(params);
  if (value === '') next.delete(key);
  else next.set(key, value);
  return next;
}

function Schedules({ job }: { job: JobStatus }) {
  const { t } = useTranslation();
  const triggers = job.triggers ?? [];
  if (triggers.length === 0) return <span className="muted">{t('schedule.manual')}</span>;
  return (
    <span className="stack">
      {triggers.slice(0, 2).map((trigger) => (
        <span key={trigger.name}>
          <ScheduleLine trigger={trigger} />
          {trigger.zone && trigger.kind === 'cron' && <span className="muted small"> {trigger.zone}</span>}
          {(trigger.state === 'error' || trigger.state === 'blocked') && <> <State state={trigger.state} quiet /></>}
        </span>
      ))}
      {triggers.length > 2 && <span className="muted small">{t('schedule.more', { n: triggers.length - 2 })}</span>}
    </span>
  );
}

/** Asks after a short pause in typing, so that each letter is not a request. */
export function SearchBox({ value, onChange, label, suggestions }: { value: string; onChange: (value: string) => void; label: string; suggestions?: string[] }) {
  const listId = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), 250);
    return () => clearTimeout(timer);
  });
  return (
    <div className="search" role="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        list={suggestions ? listId : undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {suggestions && (
        <datalist id={listId}>
          {suggestions.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </div>
  );
}

function NoJobs({ project }: { project: string }) {
  const { t } = useTranslation();
  return (
    <Empty
      title={t('jobs.empty')}
      actions={
        <Link href={paths.newJob(project)} className="button look-main">
          {t('jobs.first')}
        </Link>
      }
    >
      <p>{t('jobs.emptytext')}</p>
      <Code text={SHORTEST_YAML.replace('PROJECT', project)} label={t('jobs.yamllabel')} />
      <p>
        {t('jobs.emptyapply')} <code className="nowrap">carillon apply -f job.yaml</code>
      </p>
    </Empty>
  );
}
