/**
 * Checks the import rules (docs/architecture.md). Between threads: `main`, each worker and `helper` import only from `shared` and from their own
 * folder; `shared` imports only from itself. Within the trees of imports/layers.ts: imports go to lower layers only. Prints the arrows per layer.
 */
import { join } from 'node:path';
import { checkLayers } from './imports/check-layers.ts';
import { findImports } from './imports/find-imports.ts';
import { layeredTrees } from './imports/layers.ts';

/** Returns the folder that the rule applies to: `shared`, `main`, `helper` or `workers/<thread>`. */
function ruleFolder(file: string): string {
  const [, top = '', second = ''] = file.split('/');
  return top === 'workers' ? `workers/${second}` : top;
}

const { files, imports } = findImports(join(import.meta.dirname, '..'));
const problems = imports
  .filter(({ from, to }) => ruleFolder(to) !== 'shared' && ruleFolder(to) !== ruleFolder(from))
  .map(({ from, to }) => `${from}: imports ${to}: ${ruleFolder(from)} may import from shared and from itself only`);
for (const tree of layeredTrees) {
  const report = checkLayers(tree, files, imports);
  problems.push(...report.problems);
  for (const line of report.lines) console.log(line);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
