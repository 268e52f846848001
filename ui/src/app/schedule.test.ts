import { beforeAll, describe, expect, it } from 'vitest';
import { describeCron, hasNumericQuartzWeekday, loadCronLanguage } from './schedule';

beforeAll(async () => {
  await loadCronLanguage('zh');
  await loadCronLanguage('ja');
});

describe('describeCron', () => {
  it.each([
    ['0 30 2 * * ?', 'en', 'At 02:30'],
    ['0 0 9 ? * 2-6', 'en', 'At 09:00, Monday through Friday'], // Quartz: 2 = Monday
    ['0 9 * * 1-5', 'en', 'At 09:00, Monday through Friday'], // Unix: 1 = Monday
    ['0 0 12 ? * 1', 'en', 'At 12:00, only on Sunday'],
    ['0 12 * * 7', 'en', 'At 12:00, only on Sunday'],
    ['0 0 12 LW * ?', 'en', 'At 12:00, on the last weekday of the month'],
    ['0 0 12 ? * 6#3', 'en', 'At 12:00, on the third Friday of the month'],
    ['0 0 12 L-2 * ?', 'en', 'At 12:00, 2 days before the last day of the month'],
    ['@daily', 'en', 'At 00:00'],
    ['0 8 * * *; 30 17 * * *', 'en', 'At 08:00; At 17:30'],
    ['0 30 2 * * ?', 'zh', '在02:30'],
    ['0 30 2 * * ?', 'ja', '02:30 に実行'],
  ])('%s (%s)', (cron, language, words) => {
    expect(describeCron(cron, language)).toBe(words);
  });

  it.each([
    ['H H * * *', 'en', 'a hash spread is ours alone'],
    ['0 H(0-29) 2 * * ?', 'en', 'a bounded hash spread'],
    ['0 0 12 L-2 * ?', 'zh', 'the catalogue says "the last 2 days"'],
    ['0 8 * * *; nonsense', 'en', 'one of several is wrong'],
    ['61 * * * *', 'en', 'no such minute'],
    ['', 'en', 'nothing'],
    ['* *', 'en', 'too few fields'],
  ])('says nothing for %j (%s): %s', (cron, language) => {
    expect(describeCron(cron, language)).toBeNull();
  });
});

it.each([
  ['0 0 9 ? * 2-6', true],
  ['0 0 9 ? * MON-FRI', false],
  ['0 0 9 ? * FRI#3', false],
  ['0 9 * * 1-5', false],
  ['0 0 9 1 * ?', false],
])('numeric weekday in %s: %s', (cron, expected) => {
  expect(hasNumericQuartzWeekday(cron)).toBe(expected);
});
