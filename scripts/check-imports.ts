/**
 * The import rule between threads, as docs/architecture.md states it: `main`, each worker and `helper` import from `shared`
 * and from their own room, never from each other; `shared` imports from nobody.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, normalize, relative } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The room of a source file: `shared`, `main`, `helper` or `workers/<thread>`. */
function room(file: string): string {
  const [, top = '', second = ''] = file.split('/');
  return top === 'workers' ? `workers/${second}` : top;
}

let complaints = 0;
for (const file of globSync('src/**/*.ts', { cwd: root })) {
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, target = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const to = relative(root, normalize(join(root, file, '..', target)));
    if (room(to) === 'shared' || room(to) === room(file)) continue;
    console.error(`${file}: imports ${to}: ${room(file)} may import from shared and from itself only`);
    complaints += 1;
  }
}
process.exitCode = complaints > 0 ? 1 : 0;
