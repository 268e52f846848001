// The list of a broadcast, shard or map step: how far it has come, and each entry with its calls.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Attempt, StepItem } from '../../api/types';
import { stringify } from '../../app/lossless';
import { headOf } from '../../app/visible';
import { Button } from '../../components/basics';
import { Prose } from '../../components/prose';
import { State } from '../../components/state';
import { Ago } from '../../components/time';
import { useWord } from '../../components/words';
import { Attempts } from './StepPanel';
import { byUrgency, countStates } from './attempts';

const FIRST = 20;
const VALUE = 80; // characters of a value on its line

export function StepItems({ items, count, attempts }: { items: StepItem[]; count: number; attempts: Attempt[] }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  const [all, setAll] = useState(false);
  const sorted = byUrgency(items);
  const shown = all ? sorted : sorted.slice(0, FIRST);
  return (
    <>
      <p className="items-sum">
        <strong>{t('step.items', { count })}</strong>
        {countStates(items).map(([state, n]) => (
          <span key={state}>
            {number.format(n)} <State state={state} quiet />
          </span>
        ))}
      </p>
      {count > items.length && <p className="hint">{t('step.itemscut', { n: number.format(items.length) })}</p>}
      <ul className="items">
        {shown.map((item) => (
          <li key={item.item}>
            <Item item={item} attempts={attempts.filter((attempt) => attempt.item === item.item)} />
          </li>
        ))}
      </ul>
      {sorted.length > shown.length && (
        <Button small onClick={() => setAll(true)}>
          {t('step.allitems', { n: number.format(sorted.length) })}
        </Button>
      )}
    </>
  );
}

function Item({ item, attempts }: { item: StepItem; attempts: Attempt[] }) {
  const { t } = useTranslation();
  const word = useWord();
  const [open, setOpen] = useState(false);
  const value = (typeof item.value === 'string' ? item.value : stringify(item.value)) ?? '';
  return (
    <details className="attempt" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="attempt-head">
        <span className="muted">{item.item}</span>
        <code className="item-value">
          <Prose text={headOf(value, VALUE) + (value.length > VALUE ? '…' : '')} />
        </code>
        <State state={item.state} quiet />
        {attempts.length > 0 && <span className="muted">{t('step.attempts', { count: attempts.length })}</span>}
        {item.reason && (
          <span className="muted">
            {word('reason', item.reason)}
            {item.due && item.state === 'waiting' && (
              <>
                {' · '}
                <Ago value={item.due} ahead />
              </>
            )}
          </span>
        )}
      </summary>
      {open && (
        <>
          {value.length > VALUE && (
            <p>
              <code className="break">
                <Prose text={value} limit={2_000} />
              </code>
            </p>
          )}
          {item.error && attempts.length === 0 && (
            <p className="reason bad">
              <Prose text={item.error} />
            </p>
          )}
          {attempts.length === 0 && <p className="muted">{t('step.nocalls')}</p>}
          <Attempts attempts={attempts} />
        </>
      )}
    </details>
  );
}
