import { describe, expect, it } from 'vitest';
import type { Attempt, StepItem } from '../../api/types';
import { byUrgency, countStates, doneOf, spanOfAttempts } from './attempts';

const call = (started_at: string | null, ended_at: string | null): Attempt => ({ n: 1, state: ended_at ? 'ended' : 'started', started_at, ended_at });
const item = (number: number, state: string): StepItem => ({ item: number, value: null, state });

describe('spanOfAttempts', () => {
  it.each([
    ['none', [], [null, null]],
    ['one', [call('2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z')], ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z']],
    [
      'side by side: the first begin, the last end',
      [call('2026-01-01T00:00:03.000Z', '2026-01-01T00:00:09.000Z'), call('2026-01-01T00:00:01.000Z', '2026-01-01T00:00:04.000Z')],
      ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:09.000Z'],
    ],
    ['one is open', [call('2026-01-01T00:00:01.000Z', null), call('2026-01-01T00:00:02.000Z', '2026-01-01T00:00:03.000Z')], ['2026-01-01T00:00:01.000Z', null]],
  ] as [string, Attempt[], unknown][])('%s', (_, attempts, expected) => expect(spanOfAttempts(attempts)).toEqual(expected));
});

describe('items', () => {
  const items = [item(1, 'succeeded'), item(2, 'waiting'), item(3, 'failed'), item(4, 'running'), item(5, 'succeeded'), item(6, 'unknown')];
  it('are counted', () => {
    expect(doneOf(items)).toBe(4);
    expect(countStates(items)[0]).toEqual(['succeeded', 2]);
  });
  it('stand by urgency, else in order', () => expect(byUrgency(items).map((each) => each.item)).toEqual([3, 6, 4, 2, 1, 5]));
});
