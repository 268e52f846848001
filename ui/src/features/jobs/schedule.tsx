// How a trigger's schedule is said.
import { useTranslation } from 'react-i18next';
import type { TriggerSpec, TriggerStatus } from '../../api/types';
import { describeCron } from '../../app/schedule';
import { Time } from '../../components/time';

/** Words for a schedule, or null when only the expression itself can be shown. */
export function useScheduleWords(): (kind: string, schedule: string | null | undefined) => string | null {
  const { t, i18n } = useTranslation();
  return (kind, schedule) => {
    if (!schedule) return null;
    if (kind === 'cron') return describeCron(schedule, i18n.language);
    if (kind === 'every') return t('schedule.every', { span: schedule });
    if (kind === 'delay') return t('schedule.delay', { span: schedule });
    return null;
  };
}

export function scheduleOfSpec(spec: TriggerSpec): { kind: string; schedule: string } {
  for (const kind of ['cron', 'every', 'delay', 'at'] as const) {
    const value = spec[kind];
    if (typeof value === 'string') return { kind, schedule: value };
  }
  return { kind: '', schedule: '' };
}

/** One line for lists: words when there are any, else the expression. */
export function ScheduleLine({ trigger }: { trigger: TriggerStatus }) {
  const { t } = useTranslation();
  const words = useScheduleWords();
  if (trigger.kind === 'at') {
    return (
      <span>
        {t('schedule.at')} <Time value={trigger.schedule} />
      </span>
    );
  }
  const text = words(trigger.kind, trigger.schedule);
  return text ? <span title={trigger.schedule ?? undefined}>{text}</span> : <code>{trigger.schedule}</code>;
}
