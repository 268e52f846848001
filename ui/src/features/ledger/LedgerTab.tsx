// Every instant that a trigger promised, with the one outcome it had: a run, or a skip and its reason.
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { useLedger } from '../../api/queries';
import type { LedgerItem } from '../../api/types';
import { paths } from '../../app/paths';
import { useSettings } from '../../app/settings';
import { fromInput } from '../../app/time';
import { Answer, Empty } from '../../components/answer';
import { Button } from '../../components/basics';
import { Pager } from '../../components/pager';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Time } from '../../components/time';
import { useWord } from '../../components/words';

const LIMIT = 50;

export function LedgerTab({ project, job }: { project: string; job: string }) {
  const { t } = useTranslation();
  const word = useWord();
  const { clock } = useSettings();
  const [params, setParams] = useSearchParams();
  const from = params.get('from') ?? '';
  const to = params.get('to') ?? '';
  const skip = Math.max(0, Number(params.get('skip') ?? 0) || 0);
  const query = useLedger(project, {
    job,
    from: fromInput(from, clock === 'utc'),
    to: fromInput(to, clock === 'utc'),
    skip,
    limit: LIMIT,
  });
  const change = (key: string, value: string): void =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      if (value === '') next.delete(key);
      else next.set(key, value);
      if (key !== 'skip') next.delete('skip');
      return next;
    });

  const columns: Column<LedgerItem>[] = [
    {
      key: 'instant',
      head: t('ledger.instant'),
      main: true,
      cell: (item) =>
        item.outcome === 'skip' && item.from && item.to && item.from !== item.to ? (
          <>
            <Time value={item.from} /> – <Time value={item.to} />
          </>
        ) : (
          <Time value={item.scheduled_at ?? item.from} />
        ),
    },
    { key: 'trigger', head: t('ledger.trigger'), cell: (item) => item.trigger },
    { key: 'outcome', head: t('ledger.outcome'), cell: (item) => <State state={item.outcome} quiet /> },
    {
      key: 'what',
      head: t('ledger.what'),
      cell: (item) =>
        item.outcome === 'run' && item.run ? (
          <Link href={paths.run(project, item.run)} className="mono">
            {item.run}
          </Link>
        ) : (
          <span>{item.reason ? word('reason', item.reason) : '–'}</span>
        ),
    },
    { key: 'count', head: t('ledger.count'), cell: (item) => String(item.count ?? 1) },
  ];

  return (
    <>
      <p className="lead">{t('ledger.text')}</p>
      <div className="toolbar filters" role="group" aria-label={t('runs.filters')}>
        <label>
          <span>{t('runs.from')}</span>
          <input type="datetime-local" value={from} onChange={(event) => change('from', event.target.value)} />
        </label>
        <label>
          <span>{t('runs.to')}</span>
          <input type="datetime-local" value={to} onChange={(event) => change('to', event.target.value)} />
        </label>
        {(from || to) && (
          <Button small look="ghost" icon="close" onClick={() => setParams({})}>
            {t('runs.clear')}
          </Button>
        )}
      </div>
      <Answer query={query}>
        {(page) => {
          // A server that does not page the ledger sends all of it.
          const items = page.items.slice(0, 1_000);
          return items.length === 0 ? (
            <Empty title={t('ledger.empty')}>
              <p>{t('ledger.emptytext')}</p>
            </Empty>
          ) : (
            <>
              <Table
                caption={t('tab.ledger')}
                columns={columns}
                rows={items}
                rowKey={(item) => `${item.trigger}|${item.scheduled_at ?? item.from}|${item.outcome}|${item.run ?? item.reason ?? ''}`}
              />
              {page.total !== undefined && <Pager skip={skip} limit={LIMIT} total={page.total} shown={items.length} onSkip={(value) => change('skip', value ? String(value) : '')} />}
            </>
          );
        }}
      </Answer>
    </>
  );
}
