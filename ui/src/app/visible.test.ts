import { describe, expect, it } from 'vitest';
import { headOf, piecesOf } from './visible';

describe('piecesOf', () => {
  it.each([
    ['', []],
    ['plain 日結 text', [['plain 日結 text', false]]],
    ['a\u202eb', [['a', false], ['U+202E', true], ['b', false]]],
    ['\u0000', [['U+0000', true]]],
    ['\u2066\u2069x', [['U+2066', true], ['U+2069', true], ['x', false]]],
    ['line\nline\ttab\r\n', [['line\nline\ttab\r\n', false]]],
    ['\u{1f469}\u200d\u{1f680} می\u200cخواهم', [['\u{1f469}\u200d\u{1f680} می\u200cخواهم', false]]],
  ] as const)('%j', (text, expected) => {
    expect(piecesOf(text)).toEqual(expected.map(([part, acting]) => ({ text: part, acting })));
  });
});

describe('headOf', () => {
  it.each([
    ['abcdef', 3, 'abc'],
    ['ab', 3, 'ab'],
    ['ab\u{1f514}c', 3, 'ab'],
    ['ab\u{1f514}c', 4, 'ab\u{1f514}'],
  ])('%j at %i', (text, limit, expected) => expect(headOf(text, limit)).toBe(expected));
});
