// How much of what a scheduler may hold it holds.
import { useTranslation } from 'react-i18next';
import type { Scheduler } from '../../api/types';
import { Icon } from '../../components/icons';

/** Share of the capacity in percent; null where there is no limit. */
export function loadOf(node: Scheduler): number | null {
  if (!node.capacity || node.capacity <= 0) return null;
  return Math.round((100 * (node.jobs ?? 0)) / node.capacity);
}

export function Load({ node }: { node: Scheduler }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  const load = loadOf(node);
  const jobs = number.format(node.jobs ?? 0);
  if (load === null) return <span className="load-text">{jobs}</span>;
  const text = t('schedulers.ofcapacity', { jobs, capacity: number.format(node.capacity ?? 0) });
  return (
    <span className="load">
      <span className="load-text">
        {text}
        {node.alarm && (
          <span className="badge quiet tone-warn">
            <Icon name="warn" size={14} />
            <span>{t('schedulers.nearlyfull')}</span>
          </span>
        )}
      </span>
      <span className={`load-bar tone-${node.alarm ? 'warn' : 'good'}`} role="meter" aria-label={t('schedulers.capacity')} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.min(100, load)} aria-valuetext={text}>
        <span style={{ width: `${Math.min(100, load)}%` }} />
      </span>
    </span>
  );
}
