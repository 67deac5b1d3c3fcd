/**
 * Tables of tests: one test of node:test for all rows. A test of its own costs a third of a millisecond even when it checks
 * nothing, and there are more than two thousand rows.
 */
import { test } from 'node:test';
import { inspect } from 'node:util';

export interface Row {
  readonly name: string;
  readonly check: () => unknown;
}

/** Adds a row: what it tells, and a check that throws (or whose promise rejects) when that does not hold. */
export type AddRow = (name: string, check: () => unknown) => void;

/**
 * One test with the rows that `fill` adds. Rows are checked in order, one after the other, all of them whatever fails; each that
 * fails is shown under its name. A table without rows is refused: it would pass for ever.
 */
export function table(sentence: string, fill: (row: AddRow) => void): void {
  const rows: Row[] = [];
  fill((name, check) => rows.push({ name, check }));
  if (rows.length === 0) throw new Error(`the table "${sentence}" has no rows`);
  test(`${sentence} (${rows.length} rows)`, async () => {
    const failure = await checkRows(rows);
    if (failure) throw failure;
  });
}

/** Checks each row and says in one error which failed, and how; undefined when none did. */
export async function checkRows(rows: readonly Row[]): Promise<Error | undefined> {
  const failures: string[] = [];
  for (const { name, check } of rows) {
    try {
      const pending = check();
      if (pending instanceof Promise) await pending;
    } catch (err) {
      failures.push(`✖ ${name}\n${shown(err)}`);
    }
  }
  if (failures.length === 0) return undefined;
  const failure = new Error(`${failures.length} of ${rows.length} rows failed:\n${failures.join('\n')}`);
  failure.stack = failure.message; // Its own place says nothing: where a check failed stands with its row.
  return failure;
}

/** An error with its difference and the places in the tests and the product that it went through. */
function shown(err: unknown): string {
  const lines = inspect(err).split('\n');
  return lines
    .filter((line) => !/^\s+at .*(node:|support\/table\.ts)/.test(line))
    .map((line) => `    ${line}`)
    .join('\n');
}
