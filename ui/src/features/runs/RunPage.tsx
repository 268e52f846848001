import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useCancelRuns, useJob, useRun } from '../../api/queries';
import { isOpen } from '../../api/states';
import type { RunDetail } from '../../api/types';
import { prettyText } from '../../app/jsontext';
import { stringify } from '../../app/lossless';
import { paths } from '../../app/paths';
import { usePage } from '../../app/usePage';
import { Answer, useErrorText } from '../../components/answer';
import { Button, Card, Facts, PageHead } from '../../components/basics';
import { Code } from '../../components/code';
import { Confirm } from '../../components/dialog';
import { useNotices } from '../../components/notices';
import { Prose } from '../../components/prose';
import { State } from '../../components/state';
import { Span, Time } from '../../components/time';
import { JobGraph } from '../graph/JobGraph';
import { inOrder, stepsOfGraph, type GraphStep } from '../graph/model';
import { useBatchReport } from '../jobs/useJobActions';
import { useRunNews } from '../jobs/JobPage';
import { StepPanel } from './StepPanel';
import { useWord } from '../../components/words';

export function RunPage({ project, id }: { project: string; id: string }) {
  const { t } = useTranslation();
  const query = useRun(project, id);
  usePage(t('run.title', { id }));
  return (
    <>
      {!query.data && <PageHead kicker={<Link href={paths.runs(project)}>{`${project} / ${t('runs.title')}`}</Link>} title={t('run.title', { id })} />}
      <Answer query={query} rows={8}>
        {(run) => <RunView project={project} run={run} />}
      </Answer>
    </>
  );
}

function RunView({ project, run }: { project: string; run: RunDetail }) {
  const { t } = useTranslation();
  const word = useWord();
  const open = isOpen(run.state);
  const [chosen, setChosen] = useState<string | null>(null);
  useRunNews(run.id, run.state);

  const choose = (step: string): void => {
    setChosen(step);
    const element = document.getElementById(`step-${step}`);
    element?.scrollIntoView({ block: 'start', behavior: window.matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
    element?.focus({ preventScroll: true });
  };

  return (
    <>
      <PageHead
        kicker={
          <>
            <Link href={paths.jobs(project)}>{project}</Link> / <Link href={paths.job(project, run.job)}>{run.job}</Link>
          </>
        }
        title={t('run.title', { id: run.id })}
        actions={open && !run.cancel_requested && <CancelButton project={project} id={run.id} />}
      >
        <p className="head-line">
          <State state={run.state} />
          {open && run.cancel_requested && <span>{t('run.canceling')}</span>}
          <span>
            {word('origin', run.origin)} · {run.trigger}
          </span>
          <span>
            {t('run.took')} <Span from={run.fired_at} to={run.ended_at} live={open} />
          </span>
        </p>
        <Outcome run={run} onStep={choose} />
      </PageHead>
      <div className="overview">
        <div className="overview-main">
          <RunGraph project={project} run={run} selected={chosen} onSelect={choose} />
        </div>
        <div className="overview-side">
          <RunFacts project={project} run={run} />
        </div>
      </div>
    </>
  );
}

/** Why it waits or how it ended: the code, the step that decided, and its own words. */
function Outcome({ run, onStep }: { run: RunDetail; onStep: (step: string) => void }) {
  const { t } = useTranslation();
  const word = useWord();
  const args = typeof run.error?.args === 'object' && run.error.args !== null ? (run.error.args as Record<string, unknown>) : {};
  const { step, class: callClass, message, ...others } = args;
  const rest = Object.entries(others);
  if (!run.error?.code && !run.reason) return null;
  return (
    <div className={run.state === 'failed' || run.state === 'lost' ? 'reason bad' : 'reason'}>
      <p>
        {run.error?.code && (
          <code>
            <Prose text={run.error.code} limit={120} />
          </code>
        )}{' '}
        {run.error?.message && <Prose text={run.error.message} />} {run.reason && word('reason', run.reason)}
        {rest.map(([name, value]) => (
          <span key={name} className="muted">
            {' '}
            {name}: <Prose text={(typeof value === 'string' ? value : stringify(value)) ?? ''} />
          </span>
        ))}
      </p>
      {typeof step === 'string' && (
        <p>
          <button type="button" className="link" onClick={() => onStep(step)}>
            {t('run.atstep', { step })}
          </button>
          {typeof callClass === 'string' && callClass !== '' && ` · ${word('class', callClass)}`}
          {typeof message === 'string' && message !== '' && (
            <>
              {' · '}
              <Prose text={typeof callClass === 'string' && message.startsWith(`${callClass} (`) ? message.slice(callClass.length + 1) : message} />
            </>
          )}
        </p>
      )}
    </div>
  );
}

const hasMembers = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function RunGraph({ project, run, selected, onSelect }: { project: string; run: RunDetail; selected: string | null; onSelect: (step: string) => void }) {
  const { t } = useTranslation();
  const job = useJob(project, run.job);
  const document = job.data?.document;
  const known = document?.metadata.version ?? document?.status?.version;
  const otherVersion = known !== undefined && run.version !== undefined && String(known) !== String(run.version);
  const defined = document ? stepsOfGraph(document.spec.graph) : [];
  const states = run.steps ?? [];
  // The job may have changed or gone since: what the run itself recorded is always shown.
  const extra: GraphStep[] = states
    .filter((step) => !defined.some((each) => each.name === step.step))
    .map((step) => ({ name: step.step, kind: 'http', calls: '', after: [], join: 'all', onFailure: 'stop' }));
  const steps = [...defined, ...extra];
  const order = inOrder(steps);
  const find = (name: string) => states.find((step) => step.step === name);
  return (
    <>
      <Card title={t('job.graph')}>
        {otherVersion && <p className="hint">{t('run.otherversion', { ran: String(run.version), now: String(known) })}</p>}
        {steps.length > 0 && <JobGraph steps={steps} run={states} live={isOpen(run.state)} selected={selected} onSelect={onSelect} />}
      </Card>
      <section aria-label={t('run.steps')} className="steps">
        {order.map((step) => {
          const state = find(step.name);
          return <StepPanel key={step.name} step={step} run={state ?? { step: step.name, state: isOpen(run.state) ? 'waiting' : 'skipped' }} recorded={state !== undefined} chosen={selected === step.name} />;
        })}
      </section>
    </>
  );
}

function RunFacts({ project, run }: { project: string; run: RunDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Card title={t('run.facts')}>
        <Facts
          items={[
            [t('run.scheduled'), <Time value={run.scheduled_at} />],
            [t('run.fired'), <Time value={run.fired_at} />],
            [t('run.late'), <Span from={run.scheduled_at} to={run.fired_at} live={false} />],
            [t('run.ended'), run.ended_at && <Time value={run.ended_at} />],
            [t('run.zone'), run.zone],
            [t('run.scheduler'), run.scheduler && <span className="mono">{run.scheduler}</span>],
            [t('run.generation'), run.generation !== undefined && run.generation > 0 && String(run.generation)],
            [t('run.version'), run.version !== undefined && String(run.version)],
            [t('run.retryof'), run.retry_of && run.retry_of !== '0' && <Link href={paths.run(project, run.retry_of)}>{run.retry_of}</Link>],
            [t('run.retryno'), (run.retry_no ?? 0) > 0 && String(run.retry_no)],
            [t('run.family'), run.family && run.family !== '0' && run.family !== run.id && <Link href={paths.run(project, run.family)}>{run.family}</Link>],
          ]}
        />
      </Card>
      {(hasMembers(run.params) || typeof run.params === 'string') && (
        <Card title={t('run.params')}>
          <Code text={prettyText(typeof run.params === 'string' ? run.params : stringify(run.params))} label={t('run.params')} limit={4_000} />
        </Card>
      )}
    </>
  );
}

function CancelButton({ project, id }: { project: string; id: string }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const cancel = useCancelRuns(project);
  const report = useBatchReport();
  const { notify } = useNotices();
  const errorText = useErrorText();
  const confirm = (): void =>
    cancel.mutate([id], {
      onSuccess: (batch) => report(batch, () => t('done.cancel', { id })),
      onError: (error) => notify('bad', errorText(error)),
      onSettled: () => setAsking(false),
    });
  return (
    <>
      <Button look="danger" icon="stop" onClick={() => setAsking(true)}>
        {t('run.cancel')}
      </Button>
      {asking && <Confirm title={t('run.canceltitle', { id })} text={t('run.canceltext')} action={t('run.cancel')} busy={cancel.isPending} onConfirm={confirm} onClose={() => setAsking(false)} />}
    </>
  );
}
