import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const css = readFileSync(path.join(__dirname, 'tokens.css'), 'utf8');

function tokens(block: string): Record<string, string> {
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\b/g)].map((match) => [match[1], match[2]]));
}

/** Text between the braces that follow `head`. */
function blockAfter(head: string): string {
  const start = css.indexOf('{', css.indexOf(head) + head.length - 1);
  return css.slice(start, css.indexOf('}', start));
}

const light = tokens(blockAfter(':root {'));
const system = tokens(blockAfter(":root:not([data-theme='light']) {"));
const chosen = tokens(blockAfter(":root[data-theme='dark'] {"));

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const TONES = ['good', 'bad', 'busy', 'idle', 'void', 'warn', 'odd'];
const GROUNDS = ['bg', 'surface', 'sunken', 'hover'];

it('computes what the standard says', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

it('has the same dark twice', () => {
  expect(Object.keys(system).length).toBeGreaterThan(20);
  expect(chosen).toEqual(system);
  expect(Object.keys(light).sort()).toEqual(Object.keys(system).sort());
});

describe.each([
  ['light', light],
  ['dark', system],
])('%s', (_, theme) => {
  const get = (name: string): string => {
    const value = theme[name];
    if (!value) throw new Error(`no token --${name}`);
    return value;
  };
  const text: [string, string][] = [
    ...GROUNDS.flatMap((ground): [string, string][] => [['text', ground], ['muted', ground], ['accent', ground]]),
    ...TONES.flatMap((tone): [string, string][] => [[tone, `${tone}-soft`], [tone, 'surface'], [tone, 'bg'], [tone, 'hover']]),
    ['on-accent', 'accent'],
    ['on-accent', 'accent-hover'],
    ['accent', 'accent-soft'],
    ['accent-hover', 'surface'],
    ['text', 'bad-soft'],
    ...TONES.flatMap((tone): [string, string][] => [['text', `${tone}-soft`], ['muted', `${tone}-soft`]]),
    ['accent', 'bad-soft'],
  ];
  it.each(text)('text %s on %s is at least 4.5 : 1', (front, back) => {
    expect(contrast(get(front), get(back))).toBeGreaterThanOrEqual(4.5);
  });

  const lines: [string, string][] = [
    ['line-strong', 'surface'],
    ['line-strong', 'bg'],
    ...GROUNDS.map((ground): [string, string] => ['focus', ground]),
  ];
  it.each(lines)('line %s on %s is at least 3 : 1', (front, back) => {
    expect(contrast(get(front), get(back))).toBeGreaterThanOrEqual(3);
  });
});
