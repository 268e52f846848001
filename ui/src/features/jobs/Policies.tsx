import { useTranslation } from 'react-i18next';
import type { JobSpec, Metadata } from '../../api/types';
import { prettyText } from '../../app/jsontext';
import { stringify } from '../../app/lossless';
import { Card, Facts } from '../../components/basics';
import { Prose } from '../../components/prose';
import { Code } from '../../components/code';
import { useWord } from '../../components/words';

/** What the job does when things go wrong or meet: given values, and the defaults said as such. */
export function Policies({ spec, metadata }: { spec: JobSpec; metadata: Metadata }) {
  const { t } = useTranslation();
  const word = useWord();
  const given = (value: string | number | undefined, fallback: string): React.ReactNode =>
    value === undefined ? <span className="muted">{t('policies.default', { value: fallback })}</span> : String(value);
  const overlap = spec.overlap ?? 'wait';
  const labels = Object.entries(metadata.labels ?? {});
  return (
    <Card title={t('policies.title')}>
      <Facts
        items={[
          [
            t('policies.overlap'),
            <>
              {word('overlap', overlap)}
              {spec.overlap === undefined && <span className="muted"> ({t('policies.isdefault')})</span>}
            </>,
          ],
          [t('policies.parallel'), overlap === 'allow' && given(spec.max_parallel, '16')],
          [t('policies.timeout'), given(spec.timeout, '24h')],
          [t('policies.retry'), spec.retry?.max ? t('policies.retrytext', { max: spec.retry.max, delay: spec.retry.delay ?? '–' }) : <span className="muted">{t('policies.noretry')}</span>],
          [t('policies.failures'), spec.max_consecutive_failures ? t('policies.failurestext', { n: spec.max_consecutive_failures }) : null],
          [t('policies.inflight'), given(spec.max_in_flight, '64')],
          [t('policies.pool'), spec.pool],
          [
            t('policies.labels'),
            labels.length > 0 && (
              <span className="labels">
                {labels.map(([name, value]) => (
                  <code key={name}>
                    <Prose text={`${name}=${value}`} limit={200} />
                  </code>
                ))}
              </span>
            ),
          ],
        ]}
      />
      {spec.params !== undefined && (
        <>
          <h3 className="sub">{t('policies.params')}</h3>
          <Code text={prettyText(stringify(spec.params))} label={t('policies.params')} limit={2_000} />
        </>
      )}
    </Card>
  );
}
