/**
 * Draws lines of the source for a reader who has not written the code, and who says of each whether it is clear: 40, with the hash of the newest commit as
 * seed. Another commit draws other lines; the same commit always the same.
 *
 *   node scripts/draw-lines.ts [count] [commit]
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

export interface SourceLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

const defaultCount = 40;

/** Whether the line has something to read: no import, and more than brackets. */
export function isReadable(text: string): boolean {
  return /[a-z]{2}/i.test(text) && !/^\s*(import|export)\b.*\bfrom '/.test(text) && !text.startsWith("} from '");
}

/** Returns `count` of the lines in the order of a hash of the seed and the line's place. Pure. */
export function drawLines(lines: readonly SourceLine[], seed: string, count: number): SourceLine[] {
  const rank = ({ file, line }: SourceLine) => createHash('sha256').update(`${seed} ${file}:${line}`).digest('hex');
  const ranked = lines.filter(({ text }) => isReadable(text)).map((line) => ({ line, rank: rank(line) }));
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ line }) => line);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

if (import.meta.main) {
  const [count = String(defaultCount), revision = 'HEAD'] = process.argv.slice(2);
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`).trim();
  const files = git('ls-tree', '-r', '--name-only', commit, 'src')
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !file.includes('generated'));
  const lines = files.flatMap((file) =>
    git('show', `${commit}:${file}`)
      .split('\n')
      .map((text, index) => ({ file, line: index + 1, text })),
  );
  console.log(`Lines of ${commit}:`);
  for (const { file, line, text } of drawLines(lines, commit, Number(count))) console.log(`${file}:${line}: ${text.trim()}`);
}
