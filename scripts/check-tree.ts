/** Checks that the tree in docs/architecture.md names each folder that exists, and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkTree } from './tree/check-tree.ts';

const root = join(import.meta.dirname, '..');
const folders = ['src', 'lab', 'bench', 'scripts', 'test'].flatMap((top) => [
  top,
  ...readdirSync(join(root, top), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
]);
const tree = /## Tree\n+```\n([\s\S]*?)\n```/.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))?.[1] ?? '';
const problems = checkTree(folders, tree);
for (const problem of problems) console.error(`docs/architecture.md: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
