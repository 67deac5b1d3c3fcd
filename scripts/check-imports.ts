/**
 * Checks the import rule between threads (docs/architecture.md): `main`, each worker and `helper` import only from `shared` and from their
 * own folder; `shared` imports only from itself.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, normalize, relative } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Returns the folder that the rule applies to: `shared`, `main`, `helper` or `workers/<thread>`. */
function ruleFolder(file: string): string {
  const [, top = '', second = ''] = file.split('/');
  return top === 'workers' ? `workers/${second}` : top;
}

let violations = 0;
for (const file of globSync('src/**/*.ts', { cwd: root })) {
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, target = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const to = relative(root, normalize(join(root, file, '..', target)));
    if (ruleFolder(to) === 'shared' || ruleFolder(to) === ruleFolder(file)) continue;
    console.error(`${file}: imports ${to}: ${ruleFolder(file)} may import from shared and from itself only`);
    violations += 1;
  }
}
process.exitCode = violations > 0 ? 1 : 0;
