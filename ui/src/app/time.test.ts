import { describe, expect, it } from 'vitest';
import { fromInput, instantOf, showInstant, showRelative, showSpan } from './time';

const unit = (name: string, n: string): string => `${n} ${name}`;

describe('showSpan', () => {
  it.each([
    [0, '0 ms'],
    [-5, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [9_999, '9.9 s'],
    [10_000, '10 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [185_000, '3 min 5 s'],
    [3_600_000, '1 h'],
    [7_800_000, '2 h 10 min'],
    [86_400_000, '1 d'],
    [442_800_000, '5 d 3 h'],
  ])('%i ms', (ms, text) => {
    expect(showSpan(ms, unit)).toBe(text);
  });
});

describe('showRelative', () => {
  const now = Date.UTC(2026, 10, 30, 12);
  it.each([
    [now, 'now'],
    [now + 5_000, 'in 5 sec.'],
    [now - 90_000, '1 min. ago'],
    [now + 2 * 3_600_000 + 59 * 60_000, 'in 2 hr.'],
    [now - 3 * 86_400_000, '3 days ago'],
    [now + 90 * 86_400_000, null],
  ])('%i', (ms, text) => {
    expect(showRelative(ms, now, 'en')).toBe(text);
  });
});

describe('showInstant', () => {
  const at = Date.UTC(2026, 10, 30, 23, 5, 9);
  it('is in the zone that is asked for', () => {
    expect(showInstant(at, 'en-GB', 'UTC', at)).toMatch(/30 Nov.*23:05:09/);
    expect(showInstant(at, 'en-GB', 'Asia/Shanghai', at)).toMatch(/1 Dec.*07:05:09/);
  });
  it('names the year when it is another', () => {
    expect(showInstant(at, 'en-GB', 'UTC', at + 200 * 86_400_000)).toContain('2026');
    expect(showInstant(at, 'en-GB', 'UTC', at)).not.toContain('2026');
  });
  it('midnight is 00, not 24', () => {
    expect(showInstant(Date.UTC(2026, 0, 1), 'en-GB', 'UTC', at)).toContain('00:00:00');
  });
});

it('reads instants, and nothing else', () => {
  expect(instantOf('2026-11-30T12:00:00.123Z')).toBe(Date.UTC(2026, 10, 30, 12, 0, 0, 123));
  expect(instantOf(null)).toBeNull();
  expect(instantOf('soon')).toBeNull();
});

it('reads the fields of a filter', () => {
  expect(fromInput('2026-11-30T12:00', true)).toBe('2026-11-30T12:00:00.000Z');
  expect(fromInput('', true)).toBeUndefined();
  expect(fromInput('nothing', false)).toBeUndefined();
});
