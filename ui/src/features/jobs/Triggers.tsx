import { useTranslation } from 'react-i18next';
import type { JobStatus, TriggerSpec, TriggerStatus } from '../../api/types';
import { hasNumericQuartzWeekday } from '../../app/schedule';
import { Button, Card, Facts } from '../../components/basics';
import { State } from '../../components/state';
import { Ago, Time, useZone } from '../../components/time';
import { ScheduleLine, scheduleOfSpec } from './schedule';
import { useJobActions } from './useJobActions';
import { useWord } from '../../components/words';

export function Triggers({ project, job, status, specs }: { project: string; job: string; status?: JobStatus; specs: TriggerSpec[] }) {
  const { t } = useTranslation();
  const actions = useJobActions(project);
  const triggers: TriggerStatus[] =
    status?.triggers ??
    specs.map((spec) => ({ name: spec.name ?? 'default', ...scheduleOfSpec(spec), zone: spec.timezone, state: 'waiting' }));
  return (
    <Card title={t('triggers.title')}>
      {triggers.length === 0 && <p className="muted">{t('triggers.none')}</p>}
      <ul className="triggers">
        {triggers.map((trigger) => (
          <li key={trigger.name}>
            <Trigger
              trigger={trigger}
              spec={specs.find((spec) => (spec.name ?? 'default') === trigger.name)}
              busy={actions.busy}
              onPause={(paused) => actions.setTriggerPaused(job, trigger.name, paused)}
            />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Trigger({ trigger, spec, busy, onPause }: { trigger: TriggerStatus; spec?: TriggerSpec; busy: boolean; onPause: (paused: boolean) => void }) {
  const { t } = useTranslation();
  const word = useWord();
  const zone = useZone();
  const next = trigger.next ?? [];
  const otherZone = trigger.zone && trigger.zone !== zone ? trigger.zone : null;
  const calendars = spec?.calendars ?? (spec?.calendar === undefined ? [] : [spec.calendar].flat());
  return (
    <div className="trigger">
      <div className="trigger-head">
        <h3>{trigger.name}</h3>
        <State state={trigger.state} quiet />
        <Button
          small
          look="ghost"
          icon={trigger.paused ? 'play' : 'pause'}
          iconOnly
          disabled={busy}
          onClick={() => onPause(!trigger.paused)}
        >
          {t(trigger.paused ? 'triggers.resume' : 'triggers.pause', { name: trigger.name })}
        </Button>
      </div>
      <p className="trigger-words">
        <ScheduleLine trigger={trigger} />
      </p>
      <p className="trigger-expression">
        {trigger.schedule && trigger.kind !== 'at' && <code>{trigger.schedule}</code>} {trigger.zone && <span className="muted">{trigger.zone}</span>}
      </p>
      {trigger.reason && <p className="reason">{word('reason', trigger.reason)}</p>}
      {trigger.kind === 'cron' && trigger.schedule && hasNumericQuartzWeekday(trigger.schedule) && <p className="hint">{t('triggers.weekday')}</p>}
      {next.length > 0 ? (
        <ol className="next" aria-label={t('triggers.next')}>
          {next.slice(0, otherZone ? 3 : 5).map((instant) => (
            <li key={instant}>
              <Time value={instant} />
              <span className="muted">
                <Ago value={instant} ahead />
              </span>
              {otherZone && (
                <span className="muted next-zone" title={otherZone}>
                  {otherZone}: <Time value={instant} zone={otherZone} />
                </span>
              )}
            </li>
          ))}
        </ol>
      ) : (
        <p className="muted">{t('triggers.nonext')}</p>
      )}
      {spec && (
        <Facts
          items={[
            [t('triggers.misfire'), spec.misfire && word('misfire', spec.misfire)],
            [t('triggers.calendar'), calendars.join(', ')],
            [t('triggers.jitter'), spec.jitter],
            [t('triggers.maxfires'), spec.max_fires],
            [t('triggers.from'), spec.start && <Time value={spec.start} />],
            [t('triggers.until'), spec.end && <Time value={spec.end} />],
          ]}
        />
      )}
    </div>
  );
}
