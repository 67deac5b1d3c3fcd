/**
 * A reporter for node --test that prints failures and one summary line. Printing a line or a dot for each of a thousand small tests takes
 * longer than many of the tests.
 */
import { Transform, type TransformCallback } from 'node:stream';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** The runner's counts arrive as one line each, and are printed as one line. */
const countMessage = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

export default class FailuresReporter extends Transform {
  constructor() {
    super({ writableObjectMode: true });
  }

  override _transform(event: TestEvent, _: BufferEncoding, done: TransformCallback): void {
    done(null, format(event));
  }
}

function format({ type, data }: TestEvent): string | undefined {
  if (type === 'test:fail') return formatFailure(data);
  if (type === 'test:diagnostic') return countMessage.test(data.message) ? undefined : `${data.message}\n`;
  if (type === 'test:stdout' || type === 'test:stderr') return data.message;
  return type === 'test:summary' ? formatSummary(data) : undefined;
}

function formatSummary({ counts, duration_ms: duration }: Summary): string {
  const { tests, passed, cancelled, skipped, todo } = counts;
  const failed = tests - passed - cancelled - skipped - todo;
  const others = Object.entries({ failed, cancelled, skipped, todo }).flatMap(([what, count]) => (count > 0 ? [`, ${count} ${what}`] : []));
  return `${passed} passed${others.join('')} in ${(duration / 1000).toFixed(1)} s\n`;
}

type Summary = Extract<TestEvent, { type: 'test:summary' }>['data'];
type Failure = Extract<TestEvent, { type: 'test:fail' }>['data'];

function formatFailure({ name, file, line, details }: Failure): string | undefined {
  const error = details.error as Error & { failureType?: string };
  if (error.failureType === 'subtestsFailed') return undefined; // The subtests' failures are already printed.
  return `✖ ${name} (${file ?? ''}:${line ?? 0})\n${inspect(error.cause ?? error)}\n\n`;
}
