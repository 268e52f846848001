import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import en from './en.json';
import ja from './ja.json';
import zh from './zh.json';

type Tree = { [key: string]: string | Tree };

function flatten(tree: Tree, prefix = ''): Map<string, string> {
  const all = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === 'string') all.set(prefix + key, value);
    else for (const [inner, text] of flatten(value, `${prefix}${key}.`)) all.set(inner, text);
  }
  return all;
}

const PLURAL = /_(zero|one|two|few|many|other)$/;
const baseOf = (key: string): string => key.replace(PLURAL, '');

/** Placeholders and tags of all plural forms of a text. */
function marks(all: Map<string, string>, base: string): string[] {
  const found = new Set<string>();
  for (const [key, text] of all) {
    if (baseOf(key) !== base) continue;
    for (const mark of text.match(/\{\{\w+\}\}|<\/?\w+>/g) ?? []) found.add(mark);
  }
  return [...found].sort();
}

const english = flatten(en);
const bases = [...new Set([...english.keys()].map(baseOf))].sort();

describe.each([
  ['en', en],
  ['zh', zh],
  ['ja', ja],
])('catalogue %s', (language, tree) => {
  const all = flatten(tree as Tree);

  it('has the same texts as English', () => {
    expect([...new Set([...all.keys()].map(baseOf))].sort()).toEqual(bases);
  });

  it('has the plural forms of its language, and no others', () => {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    for (const base of bases) {
      const had = [...all.keys()].filter((key) => baseOf(key) === base && PLURAL.test(key)).map((key) => PLURAL.exec(key)?.[1]);
      const plural = [...english.keys()].some((key) => baseOf(key) === base && PLURAL.test(key));
      expect([base, had.sort()]).toEqual([base, plural ? [...forms].sort() : []]);
    }
  });

  it('has the same placeholders and tags', () => {
    for (const base of bases) expect([base, marks(all, base)]).toEqual([base, marks(english, base)]);
  });

  it('has no empty text, and none left in English', () => {
    const same = [...all].filter(([key, text]) => language !== 'en' && english.get(key) === text && /[a-z]{3}/i.test(text.replace(/\{\{\w+\}\}/g, '')));
    expect(same.map(([key]) => key).filter((key) => !/^class\.http_/.test(key))).toEqual([]);
    for (const [key, text] of all) expect([key, text.trim() === '']).toEqual([key, false]);
  });
});

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const full = path.join(folder, name);
    if (statSync(full).isDirectory()) return sources(full);
    return /\.tsx?$/.test(name) && !/\.test\.ts$/.test(name) ? [full] : [];
  });
}

describe('texts in the program', () => {
  const program = sources(path.join(__dirname, '..')).map((file) => readFileSync(file, 'utf8')).join('\n');
  const used = new Set([...program.matchAll(/['"`]([a-z]+\.[a-z_]+)['"`]/g)].map((match) => match[1] ?? ''));
  const groups = new Set([...program.matchAll(/(?:word\('|`)([a-z]+)(?:',|\.\$\{)/g)].map((match) => match[1] ?? ''));

  it('are all in the catalogue', () => {
    const ours = new Set(bases.map((base) => base.split('.')[0]));
    expect([...used].filter((key) => ours.has(key.split('.')[0] ?? '') && !bases.includes(key))).toEqual([]);
  });

  it('are all used', () => {
    expect(bases.filter((base) => !used.has(base) && !groups.has(base.split('.')[0] ?? ''))).toEqual([]);
  });
});
