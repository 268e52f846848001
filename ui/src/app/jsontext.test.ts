import { describe, expect, it } from 'vitest';
import { JsonSyntaxError, formatJson, lineOf, locatePath, parseJson, prettyText } from './jsontext';

describe('formatJson', () => {
  it.each([
    ['{}', '{}'],
    ['[ ]', '[]'],
    ['{"b":1,"a":[1,2]}', '{\n  "b": 1,\n  "a": [1, 2]\n}'],
    ['{"2":0,"1":0}', '{\n  "2": 0,\n  "1": 0\n}'],
    ['[123456789012345678901234567890,1.10,1e400]', '[123456789012345678901234567890, 1.10, 1e400]'],
    ['"\\u0041\\/"', '"\\u0041\\/"'],
    ['{"spec":{"graph":[{"step":"a","after":["b","c"]}]}}', '{\n  "spec": {\n    "graph": [\n      {"step": "a", "after": ["b", "c"]}\n    ]\n  }\n}'],
  ])('%s', (text, laidOut) => {
    expect(formatJson(text)).toBe(laidOut);
  });

  it('keeps every token, whatever the layout', () => {
    const text = '{"a":{"b":[{"c":"x  y","d":null},[],[[1]],{"e":{"f":true}}],"g":-0.0},"千":"\u{1f514}"}';
    expect(formatJson(text).replace(/\s+/g, '')).toBe(text.replace(/\s+/g, ''));
    expect(formatJson(formatJson(text))).toBe(formatJson(text));
  });

  it('leaves members out at the top only', () => {
    expect(formatJson('{"status":1,"spec":{"status":2}}', ['status'])).toBe('{\n  "spec": {\n    "status": 2\n  }\n}');
  });
});

describe('parseJson refuses', () => {
  it.each([
    ['', 1, 1],
    ['{', 1, 2],
    ['{"a":1,}', 1, 8],
    ['[1 2]', 1, 4],
    ['{"a":01}', 1, 7],
    ['{\n  "a": tru\n}', 2, 8],
    ["{'a':1}", 1, 2],
    ['"a\nb"', 1, 1],
    ['1 2', 1, 3],
  ])('%j at line %i, column %i', (text, line, column) => {
    let fault: unknown;
    try {
      parseJson(text);
    } catch (reason) {
      fault = reason;
    }
    expect(fault).toBeInstanceOf(JsonSyntaxError);
    expect([(fault as JsonSyntaxError).line, (fault as JsonSyntaxError).column]).toEqual([line, column]);
  });

  it('a nesting without end, without falling over', () => {
    expect(() => parseJson('['.repeat(100_000))).toThrow(JsonSyntaxError);
  });
});

describe('locatePath', () => {
  const text = '{\n "spec": {"graph": [{"step": "a"}, {"step": "b", "after": ["x"]}]}\n}';
  it.each([
    ['spec.graph[1].after[0]', '"x"'],
    ['spec.graph[0].step', '"a"'],
    ['spec.graph[0].url', '{"step": "a"}'],
    ['', text],
  ])('%s', (path, found) => {
    const where = locatePath(text, path);
    expect(where && text.slice(where.start, where.end)).toBe(found);
  });

  it('has no place in what is not JSON', () => {
    expect(locatePath('{', 'spec')).toBeNull();
  });
});

it('lines and columns count from one', () => {
  expect(lineOf('ab\ncd', 0)).toEqual({ line: 1, column: 1 });
  expect(lineOf('ab\ncd', 4)).toEqual({ line: 2, column: 2 });
});

it('what is not JSON is shown as it came', () => {
  expect(prettyText('<html>')).toBe('<html>');
});
