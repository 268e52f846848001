import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vite';

/** licenses.txt: whose work is in the program, with the texts that their licences ask to be passed on. */
export function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        for (const id of chunk.moduleIds) {
          const found = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id);
          if (found?.[1] && existsSync(path.join(found[1], 'package.json'))) folders.add(found[1]);
        }
      }
      const texts = [...folders].map((folder) => {
        const about = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { name: string; version: string; license?: string };
        const file = readdirSync(folder).find((name) => /^licen[cs]e(\.|$)/i.test(name));
        const text = file ? readFileSync(path.join(folder, file), 'utf8').trim() : `Licence: ${about.license ?? 'not said'}`;
        return `${about.name} ${about.version}\n\n${text}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.sort().join(`\n${'-'.repeat(80)}\n\n`) });
    },
  };
}
