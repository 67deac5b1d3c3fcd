/**
 * Checks the worked examples of docs/adding-a-part.md: each diff applies to the tree, and adds a part with one new file and one row of a table. That they compile and
 * work is in test/integration/scripts/worked-examples.test.ts. The diffs are read here, since git is not installed everywhere.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One file of a diff. */
export interface FileChange {
  readonly path: string;
  readonly isNew: boolean;
  /** The lines of each hunk, with their signs. */
  readonly hunks: readonly (readonly string[])[];
}

/** Reads a diff as git writes it. Pure. */
export function readDiff(diff: string): FileChange[] {
  return diff
    .split(/^diff --git /m)
    .slice(1)
    .map((part) => {
      const [head = '', ...hunks] = part.split(/^@@ .*\n/m);
      const [names = '', ...modes] = head.split('\n');
      return {
        path: names.slice(names.indexOf(' b/') + 3),
        isNew: modes.some((line) => line.startsWith('new file mode')),
        hunks: hunks.map((hunk) => hunk.split('\n').filter((line) => /^[-+ ]/.test(line))),
      };
    });
}

/** Returns the file after the change. Throws an Error when a hunk's lines are not in the file. Pure. */
export function applyChange({ path, isNew, hunks }: FileChange, before: string | undefined): string {
  if (isNew !== (before === undefined)) throw new Error(`${path} ${isNew ? 'exists already' : 'does not exist'}`);
  const side = (hunk: readonly string[], sign: '-' | '+') =>
    hunk.flatMap((line) => (line.startsWith(' ') || line.startsWith(sign) ? [`${line.slice(1)}\n`] : [])).join('');
  return hunks.reduce((text, hunk) => {
    const start = text.indexOf(side(hunk, '-'));
    if (start < 0) throw new Error(`${path} has other lines than the example: ${side(hunk, '-').trim().split('\n')[0]} …`);
    return text.slice(0, start) + side(hunk, '+') + text.slice(start + side(hunk, '-').length);
  }, before ?? '');
}

/** Returns how the diff differs from one new file and one row, with the row's import. Tests may change. Pure. */
export function findExampleProblems(changes: readonly FileChange[]): string[] {
  const sources = changes.filter(({ path }) => path.startsWith('src/'));
  const others = changes.filter(({ path }) => !/^(src|test)\//.test(path));
  const tables = sources.filter(({ isNew }) => !isNew);
  const lines = tables.flatMap(({ hunks }) => hunks.flat()).filter((line) => !line.startsWith(' '));
  const rows = lines.filter((line) => line.startsWith('+') && !line.startsWith('+import '));
  return [
    ...others.map(({ path }) => `changes ${path}: only src/ and test/ may change`),
    ...(sources.length - tables.length === 1 ? [] : ['has not exactly one new file below src/']),
    ...(tables.length === 1 ? [] : ['changes not exactly one table']),
    ...(rows.length === 1 && lines.length === 2 ? [] : ['adds more to the table than an import and a row']),
    ...(changes.some(({ path, isNew }) => isNew && path.startsWith('test/')) ? [] : ['has no test']),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const read = (path: string): string | undefined => {
    try {
      return readFileSync(join(root, path), 'utf8');
    } catch {
      return undefined;
    }
  };
  const examples = globSync('docs/examples/*.diff', { cwd: root }).sort();
  const missing = examples.length === 0 ? ['docs/examples has no diff'] : [];
  const problems = examples.flatMap((example) => {
    const changes = readDiff(readFileSync(join(root, example), 'utf8'));
    const unapplied = changes.flatMap((change) => {
      try {
        applyChange(change, read(change.path));
        return [];
      } catch (err) {
        return [`does not apply: ${(err as Error).message}`];
      }
    });
    return [...findExampleProblems(changes), ...unapplied].map((problem) => `${example} ${problem}`);
  });
  for (const problem of [...missing, ...problems]) console.error(problem);
  if (missing.length + problems.length > 0) process.exitCode = 1;
  else console.log(`${examples.length} examples apply, each one file and one row`);
}
