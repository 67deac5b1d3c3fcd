/** The order in which test files run: the longest first, so that no lane ends with a long file while the others are idle. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const project = join(import.meta.dirname, '../..');
const cache = join(project, '.cache/e2e-seconds.json');
/** A guess for a file that was never measured: a test takes some 25 lines and a few seconds. */
const bytesPerSecond = 200;

export type Seconds = Readonly<Record<string, number>>;

/** How long each file took when it last passed on this host. Empty when nothing was measured. */
export function readSeconds(): Seconds {
  try {
    return JSON.parse(readFileSync(cache, 'utf8')) as Seconds;
  } catch {
    return {};
  }
}

export function writeSeconds(seconds: Seconds): void {
  mkdirSync(dirname(cache), { recursive: true });
  writeFileSync(cache, JSON.stringify(seconds));
}

export function longestFirst(files: readonly string[], measured: Seconds): string[] {
  const estimate = (file: string) => measured[file] ?? statSync(join(project, file)).size / bytesPerSecond;
  return files.toSorted((a, b) => estimate(b) - estimate(a));
}
