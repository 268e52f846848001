// One step of a run: its state, and every call that was made for it, with both bodies.
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Attempt, RunStep } from '../../api/types';
import { prettyText, textOfValue } from '../../app/jsontext';
import { stringify } from '../../app/lossless';
import { StepItems } from './StepItems';
import { Facts } from '../../components/basics';
import { Code } from '../../components/code';
import { Prose } from '../../components/prose';
import { CallClass, State } from '../../components/state';
import { Ago, Span, Time, useSpan } from '../../components/time';
import { spanOfAttempts } from './attempts';
import type { GraphStep } from '../graph/model';
import { useWord } from '../../components/words';

const BODY_LIMIT = 8_000; // characters before "show all"

export function StepPanel({ step, run, recorded, chosen }: { step: GraphStep; run: RunStep; recorded: boolean; chosen: boolean }) {
  const { t } = useTranslation();
  const word = useWord();
  const attempts = run.attempts ?? [];
  const last = attempts[attempts.length - 1];
  const [began, ended] = spanOfAttempts(attempts);
  const wantsOpen = chosen || run.state === 'failed' || run.state === 'unknown';
  const [open, setOpen] = useState(wantsOpen);
  useEffect(() => {
    if (wantsOpen) setOpen(true);
  }, [wantsOpen]);
  return (
    <details className={`step${chosen ? ' chosen' : ''}`} id={`step-${step.name}`} tabIndex={-1} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="step-name">{step.name}</span>
        <State state={run.state} quiet />
        <span className="step-calls muted mono">{step.calls}</span>
        <span className="step-end">
          {attempts.length > 0 && <span className="muted">{t('step.attempts', { count: attempts.length })}</span>}
          {began && <Span from={began} to={ended} live={ended === null} />}
        </span>
      </summary>
      <div className="step-body">
        {run.reason && (
          <p className="reason">
            {word('reason', run.reason)}
            {run.due && run.state === 'waiting' && (
              <>
                {' · '}
                <Ago value={run.due} />
              </>
            )}
          </p>
        )}
        {/* Where the last call says it already, once is enough. */}
        {run.error && !(last?.error && run.error.includes(last.error)) && (
          <p className="reason bad">
            <Prose text={run.error} />
          </p>
        )}
        {step.after.length > 0 && (
          <p className="muted small">{t('graph.after', { steps: step.after.map((edge) => edge.from).join(', ') })}</p>
        )}
        {attempts.length === 0 && !run.items && <p className="muted">{t(recorded ? 'step.nocalls' : 'step.norow')}</p>}
        {run.items ? (
          <StepItems items={run.items} count={run.item_count ?? run.items.length} attempts={attempts} />
        ) : (
          <Attempts attempts={attempts} />
        )}
      </div>
    </details>
  );
}

export function Attempts({ attempts }: { attempts: Attempt[] }) {
  return attempts.map((attempt, index) => (
    <AttemptView key={`${attempt.item ?? 0}.${attempt.n}`} attempt={attempt} alone={attempts.length === 1} newest={index === attempts.length - 1} />
  ));
}

function AttemptView({ attempt, alone, newest }: { attempt: Attempt; alone: boolean; newest: boolean }) {
  const { t } = useTranslation();
  const span = useSpan();
  const text = (value: unknown): string => prettyText(textOfValue(value, stringify));
  const phase = (ms: number | null | undefined): string => (ms === null || ms === undefined || ms < 0 ? '' : span(ms));
  // The store keeps the head of long bodies; say how much there was.
  const cutNote = (body: unknown, size: number | null | undefined): string | undefined =>
    typeof body === 'string' && size && size > new TextEncoder().encode(body).length ? t('attempt.cut', { n: size }) : undefined;
  const request = text(attempt.request);
  const response = text(attempt.response);
  const ended = attempt.state === 'ended' || Boolean(attempt.ended_at);
  const head = (
    <>
      <strong>{t('attempt.title', { n: attempt.n })}</strong>
      {ended ? <CallClass value={attempt.class} /> : <State state={attempt.state} quiet />}
      {Boolean(attempt.http_status) && <span className="mono">HTTP {attempt.http_status}</span>}
      <span className="mono muted">{attempt.instance}</span>
      <Span from={attempt.started_at} to={attempt.ended_at} live={!ended} />
      {attempt.stale && <span className="badge quiet tone-odd">{t('attempt.stale')}</span>}
    </>
  );
  const body = (
    <>
      {(attempt.error || attempt.code) && (
        <p className="reason bad">
          {attempt.code && (
            <code>
              <Prose text={attempt.code} limit={120} />
            </code>
          )}{' '}
          {attempt.error && <Prose text={attempt.error} />}
        </p>
      )}
      <Facts
        items={[
          [t('attempt.key'), attempt.idempotency_key && <code className="break">{attempt.idempotency_key}</code>],
          [t('attempt.started'), <Time value={attempt.started_at} />],
          [t('attempt.ended'), attempt.ended_at && <Time value={attempt.ended_at} />],
          [t('attempt.connect'), phase(attempt.connect_ms)],
          [t('attempt.firstbyte'), phase(attempt.first_byte_ms)],
          [t('attempt.try'), attempt.try !== undefined && String(attempt.try)],
          [t('attempt.scheduler'), attempt.scheduler && <span className="mono">{attempt.scheduler}</span>],
          [t('attempt.epoch'), attempt.epoch !== undefined && attempt.epoch !== null && <span className="mono">{String(attempt.epoch)}</span>],
          [t('attempt.bytes'), attempt.bytes_sent !== undefined && attempt.bytes_sent !== null && String(attempt.bytes_sent)],
          [t('attempt.reused'), attempt.reused_connection !== undefined && attempt.reused_connection !== null && t(attempt.reused_connection ? 'word.yes' : 'word.no')],
        ]}
      />
      <div className="bodies">
        <div>
          <h3>{t('attempt.request')}</h3>
          {request ? <Code text={request} label={t('attempt.request')} limit={BODY_LIMIT} note={cutNote(attempt.request, attempt.request_size)} /> : <p className="muted">{t('attempt.nobody')}</p>}
        </div>
        <div>
          <h3>{t('attempt.response')}</h3>
          {response ? <Code text={response} label={t('attempt.response')} limit={BODY_LIMIT} note={cutNote(attempt.response, attempt.response_size)} /> : <p className="muted">{ended ? t('attempt.nobody') : t('attempt.notyet')}</p>}
        </div>
      </div>
    </>
  );
  if (alone) {
    return (
      <div className="attempt">
        <div className="attempt-head">{head}</div>
        {body}
      </div>
    );
  }
  return (
    <details className="attempt" open={newest || undefined}>
      <summary className="attempt-head">{head}</summary>
      {body}
    </details>
  );
}
