/** Table tests: one test of node:test for all rows. A separate test per row would cost a third of a millisecond each, for more than two thousand rows. */
import { test } from 'node:test';
import { inspect } from 'node:util';

export interface Row {
  readonly name: string;
  readonly check: () => unknown;
}

/** Adds a row: its name, and a check that throws or rejects on failure. */
export type AddRow = (name: string, check: () => unknown) => void;

/**
 * Defines one test with the rows that `fill` adds. All rows are checked in order, also after a failure; the error names each failed row. Throws for a
 * table without rows, which would always pass.
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

/** Checks each row. Returns one error with all failures, or undefined. */
export async function checkRows(rows: readonly Row[]): Promise<Error | undefined> {
  const failures: string[] = [];
  for (const { name, check } of rows) {
    try {
      const pending = check();
      if (pending instanceof Promise) await pending;
    } catch (err) {
      failures.push(`✖ ${name}\n${formatError(err)}`);
    }
  }
  if (failures.length === 0) return undefined;
  const failure = new Error(`${failures.length} of ${rows.length} rows failed:\n${failures.join('\n')}`);
  failure.stack = failure.message; // The stack of each failed check is part of the message.
  return failure;
}

/** Formats an error with its difference and its stack, without the frames of Node and of this file. */
function formatError(err: unknown): string {
  const lines = inspect(err).split('\n');
  return lines
    .filter((line) => !/^\s+at .*(node:|support\/table\.ts)/.test(line))
    .map((line) => `    ${line}`)
    .join('\n');
}
