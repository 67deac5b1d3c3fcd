/** Compares the results of the tests with the expected ones. Pure. */

export interface TestResult {
  /** With the texts of all containers: `[sig-node] Pods should …`. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The failure, or why the test skipped itself. */
  readonly message: string;
  readonly seconds: number;
}

/** A row of test/conformance/expected.yaml. */
export interface Expectation {
  /** A part of the names of one or more tests. */
  readonly test: string;
  /** `not run`: the test needs what this host or these images do not have. `may fail`: it depends on the host. */
  readonly outcome: 'fails' | 'may fail' | 'not run';
  /** A part of the failure that is expected. Default: any. */
  readonly failure?: string;
  readonly reason: string;
  /** The lists that have these tests. */
  readonly lists: readonly string[];
}

/** A row of test/conformance/counts.yaml. */
export interface Counts {
  readonly ran: number;
  readonly passed: number;
  readonly failed: number;
  /** They ran until they found that this node is not for them. */
  readonly skipped: number;
}

export interface Verdict {
  readonly passed: number;
  readonly failedAsExpected: readonly (TestResult & { readonly reason: string })[];
  readonly failed: readonly TestResult[];
  readonly passedUnexpectedly: readonly TestResult[];
  readonly skipped: readonly TestResult[];
  /** Rows that name no test of the suite: upstream has renamed it, or the row has a mistake. */
  readonly unknown: readonly Expectation[];
  /** Tests that ran before, and did not run now. */
  readonly missing: number;
}

/**
 * @param results of the tests that were started
 * @param names of all tests of the suite
 * @param committed tests that ran before
 */
export function computeVerdict(
  results: readonly TestResult[],
  names: readonly string[],
  expectations: readonly Expectation[],
  committed = 0,
): Verdict {
  const expectationOf = ({ name, message }: TestResult) =>
    expectations.find(
      ({ test, outcome, failure = '' }) =>
        outcome !== 'not run' && name.includes(test) && message.replaceAll(/\s+/g, ' ').includes(failure),
    );
  const failures = results.filter(({ outcome }) => outcome === 'failed');
  const passes = results.filter(({ outcome }) => outcome === 'passed');
  return {
    passed: passes.length,
    failedAsExpected: failures.flatMap((result) => {
      const row = expectationOf(result);
      return row === undefined ? [] : [{ ...result, reason: row.reason }];
    }),
    failed: failures.filter((result) => expectationOf(result) === undefined),
    passedUnexpectedly: passes.filter(({ name }) => expectations.some(({ test, outcome }) => outcome === 'fails' && name.includes(test))),
    skipped: results.filter(({ outcome }) => outcome === 'skipped'),
    unknown: expectations.filter(({ test }) => !names.some((name) => name.includes(test))),
    missing: Math.max(0, committed - results.length),
  };
}

export function isGood({ failed, passedUnexpectedly, unknown, missing, passed }: Verdict): boolean {
  return failed.length === 0 && passedUnexpectedly.length === 0 && unknown.length === 0 && missing === 0 && passed > 0;
}

export function countsOf({ passed, failed, failedAsExpected, skipped }: Verdict): Counts {
  const failures = failed.length + failedAsExpected.length;
  return { ran: passed + failures + skipped.length, passed, failed: failures, skipped: skipped.length };
}

/** Returns the table at the end of a run. */
export function verdictText(verdict: Verdict, notRun: readonly Expectation[]): string {
  const { passed, failedAsExpected, failed, passedUnexpectedly, skipped, unknown, missing } = verdict;
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : ['', `${title}:`, ...lines]);
  const firstLine = (text: string) => text.trim().split('\n')[0]?.slice(0, 200) ?? '';
  return [
    ...section(
      'not run',
      notRun.map(({ test, reason }) => `  ${test}: ${reason}`),
    ),
    ...section(
      'skipped by the tests',
      skipped.map(({ name, message }) => `  ${name}: ${firstLine(message)}`),
    ),
    ...section(
      'failed as expected',
      failedAsExpected.map(({ name, reason }) => `  ${name}: ${reason}`),
    ),
    ...section(
      'expected to fail, but passed',
      passedUnexpectedly.map(({ name }) => `✖ ${name}`),
    ),
    ...section(
      'expected, but in no test’s name',
      unknown.map(({ test }) => `✖ ${test}`),
    ),
    ...section(
      'failed',
      failed.map(({ name, message }) => `✖ ${name}: ${firstLine(message)}`),
    ),
    ...(missing === 0 ? [] : ['', `✖ ${missing} fewer tests ran than counts.yaml has`]),
    ...(passed === 0 && failed.length + failedAsExpected.length === 0
      ? ['', '✖ no test of the list matches, or each has skipped itself']
      : []),
    '',
    `${passed} passed, ${failed.length} failed, ${failedAsExpected.length} failed as expected, ${skipped.length} skipped`,
  ].join('\n');
}
