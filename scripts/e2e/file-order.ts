/** Sorts test files by duration, longest first, so that no lane ends with a long file while the others are idle. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const project = join(import.meta.dirname, '../..');
const cache = join(project, '.cache/e2e-seconds.json');
/** Estimate for a file without a measurement: a test has about 25 lines and takes a few seconds. */
const bytesPerSecond = 200;

export type Seconds = Readonly<Record<string, number>>;

/** Returns the duration of each file's last successful run on this host. Files that are gone are not included. */
export function readSeconds(): Seconds {
  try {
    const seconds = Object.entries(JSON.parse(readFileSync(cache, 'utf8')) as Seconds);
    return Object.fromEntries(seconds.filter(([file]) => existsSync(join(project, file))));
  } catch {
    return {};
  }
}

export function writeSeconds(seconds: Seconds): void {
  mkdirSync(dirname(cache), { recursive: true });
  writeFileSync(cache, JSON.stringify(seconds));
}

export function sortLongestFirst(files: readonly string[], measured: Seconds): string[] {
  const estimate = (file: string) => measured[file] ?? statSync(join(project, file)).size / bytesPerSecond;
  return files.toSorted((a, b) => estimate(b) - estimate(a));
}
