// JSON as text. Definitions and bodies are shown and sent as they were written: a double would round whole numbers
// above 2^53, and an object would reorder its keys. So the text is parsed into a tree of places, not of values.

export type JsonNode =
  | { kind: 'object'; start: number; end: number; members: JsonMember[] }
  | { kind: 'array'; start: number; end: number; items: JsonNode[] }
  | { kind: 'string' | 'number' | 'literal'; start: number; end: number };

export interface JsonMember {
  key: string;
  start: number; // of the key
  value: JsonNode;
}

export class JsonSyntaxError extends Error {
  constructor(
    readonly offset: number,
    readonly line: number,
    readonly column: number,
  ) {
    super(`line ${line}, column ${column}`);
    this.name = 'JsonSyntaxError';
  }
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
const DEPTH = 256;

export function lineOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - before.lastIndexOf('\n') };
}

export function parseJson(text: string): JsonNode {
  let at = 0;

  const fail = (offset: number): never => {
    const { line, column } = lineOf(text, offset);
    throw new JsonSyntaxError(offset, line, column);
  };
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return null;
    at += found[0].length;
    return found[0];
  };
  const space = (): void => void match(SPACE);
  const take = (char: string): boolean => {
    if (text[at] !== char) return false;
    at++;
    return true;
  };

  const object = (start: number, depth: number): JsonNode => {
    const members: JsonMember[] = [];
    space();
    if (!take('}')) {
      do {
        space();
        const keyStart = at;
        const key = match(STRING) ?? fail(at);
        space();
        if (!take(':')) fail(at);
        members.push({ key: JSON.parse(key) as string, start: keyStart, value: value(depth) });
        space();
      } while (take(','));
      if (!take('}')) fail(at);
    }
    return { kind: 'object', start, end: at, members };
  };

  const array = (start: number, depth: number): JsonNode => {
    const items: JsonNode[] = [];
    space();
    if (!take(']')) {
      do {
        items.push(value(depth));
        space();
      } while (take(','));
      if (!take(']')) fail(at);
    }
    return { kind: 'array', start, end: at, items };
  };

  const value = (depth: number): JsonNode => {
    space();
    const start = at;
    if (depth > DEPTH) fail(at);
    if (take('{')) return object(start, depth + 1);
    if (take('[')) return array(start, depth + 1);
    for (const [kind, pattern] of [['string', STRING], ['number', NUMBER], ['literal', LITERAL]] as const) {
      if (match(pattern) !== null) return { kind, start, end: at };
    }
    return fail(start);
  };

  const root = value(0);
  space();
  if (at !== text.length) fail(at);
  return root;
}

const WIDTH = 84; // of what may stand on one line

/** The same tokens in the same order, laid out anew. Short lists and, further in, short objects take one line. */
export function formatJson(text: string, skipMembers: readonly string[] = []): string {
  const flat = (node: JsonNode): boolean =>
    node.kind === 'object'
      ? node.members.every(({ value }) => value.kind !== 'object' && (value.kind !== 'array' || flat(value)))
      : node.kind !== 'array' || node.items.every((item) => item.kind !== 'object' && item.kind !== 'array');
  const write = (node: JsonNode, indent: string, top: boolean): string => {
    const inner = `${indent}  `;
    if (node.kind === 'object') {
      const members = top ? node.members.filter((member) => !skipMembers.includes(member.key)) : node.members;
      if (members.length === 0) return '{}';
      const parts = members.map((member) => `${JSON.stringify(member.key)}: ${write(member.value, inner, false)}`);
      const line = `{${parts.join(', ')}}`;
      if (indent.length >= 4 && flat(node) && line.length <= WIDTH) return line;
      return `{\n${parts.map((part) => inner + part).join(',\n')}\n${indent}}`;
    }
    if (node.kind === 'array') {
      if (node.items.length === 0) return '[]';
      const items = node.items.map((item) => write(item, inner, false));
      const line = `[${items.join(', ')}]`;
      if (flat(node) && line.length <= WIDTH) return line;
      return `[\n${items.map((item) => inner + item).join(',\n')}\n${indent}]`;
    }
    return text.slice(node.start, node.end);
  };
  return write(parseJson(text), '', true);
}

/** Laid out when it is JSON, else as it came. */
export function prettyText(text: string): string {
  try {
    return formatJson(text);
  } catch {
    return text;
  }
}

/** `spec.graph[2].after[0]` → where that is in the text; the nearest parent when the place itself is missing. */
export function locatePath(text: string, path: string): { start: number; end: number } | null {
  let node: JsonNode;
  try {
    node = parseJson(text);
  } catch {
    return null;
  }
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    let next: JsonNode | undefined;
    if (node.kind === 'object') next = node.members.find((member) => member.key === part)?.value;
    else if (node.kind === 'array') next = node.items[Number(part)];
    if (!next) break;
    node = next;
  }
  return { start: node.start, end: node.end };
}

/** Text of a value that came parsed: strings are bodies as they were sent, the rest is JSON. */
export function textOfValue(value: unknown, stringify: (value: unknown) => string): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : stringify(value);
}
