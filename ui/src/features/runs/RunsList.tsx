// Runs with their filters, kept in the address so that a view can be sent to a colleague.
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { useJobs, useRuns } from '../../api/queries';
import { RUN_STATES } from '../../api/states';
import { useSettings } from '../../app/settings';
import { fromInput } from '../../app/time';
import { Answer, Empty } from '../../components/answer';
import { Button } from '../../components/basics';
import { Pager } from '../../components/pager';
import { SearchBox } from '../jobs/JobsPage';
import { RunsTable } from './RunsTable';

const LIMIT = 50;
const FILTERS = ['job', 'state', 'trigger', 'from', 'to'] as const;

export function RunsList({ project, job, recent = false }: { project: string; job?: string; recent?: boolean }) {
  const { t } = useTranslation();
  const { clock } = useSettings();
  const [params, setParams] = useSearchParams();
  const get = (key: string): string => (recent ? '' : (params.get(key) ?? ''));
  const limit = recent ? 8 : LIMIT;
  const skip = recent ? 0 : Math.max(0, Number(params.get('skip') ?? 0) || 0);
  const filter = {
    job: job ?? (get('job') || undefined),
    state: get('state') || undefined,
    trigger: get('trigger') || undefined,
    from: fromInput(get('from'), clock === 'utc'),
    to: fromInput(get('to'), clock === 'utc'),
  };
  const query = useRuns(project, { ...filter, skip, limit });
  const filtered = FILTERS.some((key) => get(key) !== '');

  const change = (key: string, value: string): void =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === '') next.delete(key);
        else next.set(key, value);
        if (key !== 'skip') next.delete('skip');
        return next;
      },
      { replace: key !== 'skip' },
    );
  const clear = (): void => setParams({});

  return (
    <>
      {!recent && (
        <div className="toolbar filters" role="group" aria-label={t('runs.filters')}>
          {job === undefined && <JobFilter project={project} value={get('job')} onChange={(value) => change('job', value)} />}
          <label>
            <span>{t('runs.state')}</span>
            <select value={get('state')} onChange={(event) => change('state', event.target.value)}>
              <option value="">{t('runs.anystate')}</option>
              {RUN_STATES.map((state) => (
                <option key={state} value={state}>
                  {t(`state.${state}`)}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span>{t('runs.from')}</span>
            <input type="datetime-local" value={get('from')} onChange={(event) => change('from', event.target.value)} />
          </label>
          <label>
            <span>{t('runs.to')}</span>
            <input type="datetime-local" value={get('to')} onChange={(event) => change('to', event.target.value)} />
          </label>
          {filtered && (
            <Button small look="ghost" icon="close" onClick={clear}>
              {t('runs.clear')}
            </Button>
          )}
        </div>
      )}
      <Answer query={query} rows={recent ? 3 : 6}>
        {(page) =>
          page.items.length === 0 ? (
            filtered || skip > 0 ? (
              <Empty title={t('runs.nomatch')} actions={<Button onClick={clear}>{t('runs.clear')}</Button>} />
            ) : recent ? (
              <p className="muted">{t('runs.emptytext')}</p>
            ) : (
              <Empty title={t('runs.empty')}>
                <p>{t('runs.emptytext')}</p>
              </Empty>
            )
          ) : (
            <>
              <RunsTable project={project} runs={page.items} withJob={job === undefined} caption={t('runs.title')} />
              {!recent && <Pager skip={skip} limit={limit} total={page.total} shown={page.items.length} onSkip={(value) => change('skip', value ? String(value) : '')} />}
            </>
          )
        }
      </Answer>
    </>
  );
}

/** A job's exact name; what is known of the project is offered. */
function JobFilter({ project, value, onChange }: { project: string; value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation();
  const jobs = useJobs(project, { skip: 0, limit: 200 });
  return <SearchBox label={t('runs.byjob')} value={value} onChange={(text) => onChange(text.trim())} suggestions={jobs.data?.items.map((job) => job.name) ?? []} />;
}
