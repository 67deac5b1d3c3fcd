/**
 * Checks the import rules (docs/architecture.md): between threads and top folders, as imports/check-folders.ts says, and within the trees of
 * imports/layers.ts, where imports go to lower layers only. Prints the arrows per layer.
 */
import { join } from 'node:path';
import { checkFolders } from './imports/check-folders.ts';
import { checkLayers } from './imports/check-layers.ts';
import { findImports } from './imports/find-imports.ts';
import { layeredTrees } from './imports/layers.ts';

const { files, imports } = findImports(join(import.meta.dirname, '..'));
const problems = checkFolders(imports);
for (const tree of layeredTrees) {
  const report = checkLayers(tree, files, imports);
  problems.push(...report.problems);
  for (const line of report.lines) console.log(line);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
