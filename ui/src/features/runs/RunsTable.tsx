import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Run } from '../../api/types';
import { isOpen } from '../../api/states';
import { paths } from '../../app/paths';
import { headOf } from '../../app/visible';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Span, Time } from '../../components/time';
import { useWord } from '../../components/words';

export function RunsTable({ project, runs, withJob, caption }: { project: string; runs: Run[]; withJob: boolean; caption: string }) {
  const { t } = useTranslation();
  const columns: (Column<Run> | false)[] = [
    {
      key: 'id',
      head: t('runs.run'),
      main: true,
      cell: (run) => (
        <Link href={paths.run(project, run.id)} className="row-name mono nowrap">
          {run.id}
        </Link>
      ),
    },
    withJob && {
      key: 'job',
      head: t('runs.job'),
      cell: (run) => <Link href={paths.job(project, run.job)}>{run.job}</Link>,
    },
    { key: 'state', head: t('runs.state'), cell: (run) => <RunState run={run} /> },
    { key: 'scheduled', head: t('runs.scheduled'), cell: (run) => <Time value={run.scheduled_at} /> },
    {
      key: 'took',
      head: t('runs.took'),
      cell: (run) => <Span from={run.fired_at} to={run.ended_at} live={isOpen(run.state)} />,
    },
    { key: 'trigger', head: t('runs.trigger'), cell: (run) => <TriggerName run={run} /> },
    { key: 'scheduler', head: t('runs.scheduler'), cell: (run) => <span className="mono">{run.scheduler ?? '–'}</span> },
  ];
  return <Table caption={caption} columns={columns.filter((column): column is Column<Run> => column !== false)} rows={runs} rowKey={(run) => run.id} />;
}

function RunState({ run }: { run: Run }) {
  const word = useWord();
  const why = run.error?.code ?? run.reason;
  return (
    <span className="stack">
      <State state={run.state} quiet />
      {why && <span className="muted small why">{headOf(word('reason', why), 120)}</span>}
    </span>
  );
}

function TriggerName({ run }: { run: Run }) {
  const word = useWord();
  return (
    <span className="stack">
      <span className="clip" title={run.trigger}>
        {run.trigger}
      </span>
      {run.origin !== 'schedule' && <span className="muted small">{word('origin', run.origin)}</span>}
    </span>
  );
}
