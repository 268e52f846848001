import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useExplain } from '../../api/queries';
import type { Explain } from '../../api/types';
import { paths } from '../../app/paths';
import { Answer } from '../../components/answer';
import { Card, Facts } from '../../components/basics';
import { State } from '../../components/state';
import { Ago } from '../../components/time';
import { useWord } from '../../components/words';

/** What a job does that neither waits nor is held up. */
function quietText(explain: Explain): string {
  const triggers = explain.triggers ?? [];
  if (triggers.length === 0) return 'why.byhand';
  return triggers.some((trigger) => (trigger.next ?? []).length > 0) ? 'why.nothing' : 'why.nonext';
}

/** Why does it wait, why does it not fire, who is in charge: what `carillon explain` says. */
export function Why({ project, job }: { project: string; job: string }) {
  const { t } = useTranslation();
  const word = useWord();
  const query = useExplain(project, job);
  return (
    <Card title={t('why.title')}>
      <Answer query={query} rows={2}>
        {(explain) => {
          const waiting = explain.waiting ?? [];
          const lingering = explain.lingering ?? [];
          const held = (explain.triggers ?? []).filter((trigger) => trigger.reason || ['error', 'blocked', 'paused', 'complete'].includes(trigger.state));
          return (
            <>
              <Facts
                items={[
                  [
                    t('why.owner'),
                    explain.owner?.node ? (
                      <>
                        <Link href={paths.scheduler(explain.owner.node)} className="mono">
                          {explain.owner.node}
                        </Link>
                        {explain.owner.since && (
                          <>
                            {' · '}
                            {t('why.since')} <Ago value={explain.owner.since} />
                          </>
                        )}
                      </>
                    ) : (
                      t('why.noowner')
                    ),
                  ],
                  [t('why.slot'), explain.owner?.slot !== undefined && explain.owner.slot !== null && <span className="mono">{String(explain.owner.slot)}</span>],
                ]}
              />
              {explain.state === 'paused' && <p className="reason">{t('why.paused')}</p>}
              {explain.state === 'suspended' && <p className="reason">{t('why.suspended')}</p>}
              {held.length > 0 && (
                <ul className="reasons">
                  {held.map((trigger) => (
                    <li key={trigger.name}>
                      <strong>{trigger.name}</strong> <State state={trigger.state} quiet />
                      {trigger.reason && <span>{word('reason', trigger.reason)}</span>}
                    </li>
                  ))}
                </ul>
              )}
              {waiting.length > 0 && (
                <>
                  <h3 className="sub">{t('why.waiting')}</h3>
                  <ul className="reasons">
                    {waiting.map((item, index) => (
                      <li key={index}>
                        {item.run && <Link href={paths.run(project, item.run)}>{item.run}</Link>}
                        {item.step && <strong>{item.step}</strong>}
                        <span>{item.reason ? word('reason', item.reason) : ''}</span>
                        {item.since && (
                          <span className="muted">
                            {t('why.since')} <Ago value={item.since} />
                          </span>
                        )}
                        {item.due && (
                          <span className="muted">
                            {t('why.again')} <Ago value={item.due} ahead />
                          </span>
                        )}
                      </li>
                    ))}
                  </ul>
                </>
              )}
              {lingering.length > 0 && (
                <>
                  <h3 className="sub">{t('why.lingering')}</h3>
                  <ul className="reasons">
                    {lingering.map((item, index) => (
                      <li key={index}>
                        <Link href={paths.run(project, item.run)}>{item.run}</Link>
                        <strong>{item.step}</strong>
                        <span className="mono">{item.instance}</span>
                        <span className="muted">
                          {t('why.until')} <Ago value={item.until} ahead />
                        </span>
                      </li>
                    ))}
                  </ul>
                </>
              )}
              {waiting.length === 0 && lingering.length === 0 && held.length === 0 && explain.state === 'active' && <p className="muted">{t(quietText(explain))}</p>}
            </>
          );
        }}
      </Answer>
    </Card>
  );
}
