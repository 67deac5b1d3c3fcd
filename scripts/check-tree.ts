/** Checks that the tree in docs/architecture.md names each folder that exists, and no other. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkTree } from './tree/check-tree.ts';

const root = join(import.meta.dirname, '..');
const tops = ['src', 'lab', 'bench', 'scripts', 'test'];
// What git ignores, such as the results of benchmarks, is no part of the tree.
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z', ...tops], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
  .split('\0')
  .filter((file) => file !== '');
const folders = [...new Set(files.flatMap(foldersOf))];
const tree = /## Tree\n+```\n([\s\S]*?)\n```/.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))?.[1] ?? '';
const problems = checkTree(folders, tree);
for (const problem of problems) console.error(`docs/architecture.md: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Returns the folders above a file. */
function foldersOf(file: string): string[] {
  const folder = dirname(file);
  return folder === '.' ? [] : [...foldersOf(folder), folder];
}
