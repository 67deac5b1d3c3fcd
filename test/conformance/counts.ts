/** The numbers of tests of each list: those of the last runs, and those that are committed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { TestList } from './lists.ts';
import type { Counts } from './verdict.ts';

const committed = join(import.meta.dirname, 'counts.yaml');
const heading =
  '# What the last complete run of each list counted. No fewer tests may run. `npm run test:conformance -- --commit` writes this.\n';

/** Returns a table of the last complete runs that are in the folder. */
export function countsTable(lists: readonly TestList[], reports: string): string {
  const rows = lists.flatMap(({ name }) => {
    const counts = readCounts(reports, name);
    return counts === undefined ? [] : [`| ${name} | ${counts.ran} | ${counts.passed} | ${counts.failed} | ${counts.skipped} |`];
  });
  return ['', '| list | ran | passed | failed | skipped by the tests |', '|---|---|---|---|---|', ...rows].join('\n');
}

/** Keeps the counts of other lists. */
export function commitCounts(names: readonly string[], reports: string): void {
  const counts = parse(readFileSync(committed, 'utf8')) as Record<string, Counts>;
  for (const name of names) {
    const measured = readCounts(reports, name);
    if (measured !== undefined) counts[name] = measured;
  }
  writeFileSync(committed, heading + stringify(counts));
}

function readCounts(reports: string, name: string): Counts | undefined {
  const path = join(reports, name, 'counts.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Counts) : undefined;
}
