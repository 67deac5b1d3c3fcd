import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReport } from '../../conformance/ginkgo.ts';
import { computeVerdict, countsOf, isGood, verdictText, type Expectation, type TestResult } from '../../conformance/verdict.ts';
import { table } from '../../support/table.ts';

const result = (name: string, outcome: TestResult['outcome']): TestResult => ({ name, outcome, message: `${name} ${outcome}`, seconds: 1 });
const fails = (part: string): Expectation => ({ test: part, outcome: 'fails', reason: 'not built yet', lists: ['nodes'] });
const passed = result('[sig-node] Pods should start', 'passed');
const failed = result('[sig-node] Pods should resize', 'failed');

table('a run is good when exactly the listed tests fail', (row) => {
  const check = (
    name: string,
    results: readonly TestResult[],
    expectations: readonly Expectation[],
    expected: boolean,
    committed?: number,
  ) =>
    row(name, () => {
      const names = [passed.name, failed.name];
      assert.equal(isGood(computeVerdict(results, names, expectations, committed)), expected);
    });
  check('all pass', [passed], [], true);
  check('a test fails', [passed, failed], [], false);
  check('a listed test fails', [passed, failed], [fails('should resize')], true);
  check('a listed test passes', [passed], [fails('should start')], false);
  const mayFail: Expectation = { ...fails('Pods should'), outcome: 'may fail' };
  check('tests that depend on the host pass and fail', [passed, failed], [mayFail], true);
  check('a listed test fails as the row says', [passed, failed], [{ ...mayFail, failure: 'resize failed' }], true);
  check('a listed test fails in another way', [passed, failed], [{ ...mayFail, failure: 'oom_score_adj' }], false);
  check('a listed test is not part of this run', [passed], [fails('should resize')], true);
  check('a row names no test of the suite', [passed], [fails('should fly')], false);
  check(
    'a failed test is listed as not run',
    [passed, failed],
    [{ test: 'should resize', outcome: 'not run', reason: 'r', lists: ['nodes'] }],
    false,
  );
  check('a test skips itself', [passed, result(failed.name, 'skipped')], [], true);
  check('no test passes', [], [], false);
  check('as many tests ran as before', [passed], [], true, 1);
  check('fewer tests ran than before', [passed], [], false, 2);
});

test('the table names each test that is not as expected', () => {
  const results = [passed, failed, result('[sig-node] Pods should stop', 'failed'), result('[sig-node] Sysctls', 'skipped')];
  const names = results.map(({ name }) => name);
  const notRun: Expectation = { test: 'ImageVolume', outcome: 'not run', reason: 'no image', lists: ['nodes'] };
  const verdict = computeVerdict(results, names, [fails('should resize'), fails('should start'), fails('should fly'), notRun]);
  assert.equal(
    verdictText(verdict, [notRun]),
    `
not run:
  ImageVolume: no image

skipped by the tests:
  [sig-node] Sysctls: [sig-node] Sysctls skipped

failed as expected:
  [sig-node] Pods should resize: not built yet

expected to fail, but passed:
✖ [sig-node] Pods should start

expected, but in no test’s name:
✖ should fly
✖ ImageVolume

failed:
✖ [sig-node] Pods should stop: [sig-node] Pods should stop failed

1 passed, 1 failed, 1 failed as expected, 1 skipped`,
  );
});

test('the table says when no test ran, and when fewer ran', () => {
  assert.match(verdictText(computeVerdict([], [passed.name], []), []), /✖ no test of the list matches/);
  assert.match(verdictText(computeVerdict([passed], [passed.name], [], 3), []), /✖ 2 fewer tests ran than counts.yaml has/);
});

test('counts are those of the tests that ran', () => {
  const results = [passed, failed, result('[sig-node] Pods should stop', 'failed'), result('[sig-node] Sysctls', 'skipped')];
  const verdict = computeVerdict(results, [], [fails('should resize')]);
  assert.deepEqual(countsOf(verdict), { ran: 4, passed: 1, failed: 2, skipped: 1 });
});

test('a report has the results of tests that were started, and failed setups', () => {
  const spec = { ContainerHierarchyTexts: ['[sig-node] Pods'], LeafNodeType: 'It', State: 'passed', NumAttempts: 1, RunTime: 2e9 };
  const setup = { ...spec, ContainerHierarchyTexts: null, LeafNodeType: 'SynchronizedBeforeSuite' };
  const report = [
    {
      SpecReports: [
        { ...setup, LeafNodeText: '' },
        { ...setup, LeafNodeText: '', State: 'failed', Failure: { Message: 'no node' } },
        { ...spec, LeafNodeText: 'should start' },
        { ...spec, LeafNodeText: 'should stop', State: 'timedout', Failure: { Message: 'too slow' } },
        { ...spec, LeafNodeText: 'on Windows', State: 'skipped', Failure: { Message: 'only on Windows' } },
        { ...spec, LeafNodeText: 'excluded', State: 'skipped', NumAttempts: 0 },
      ],
    },
  ];
  const { names, results } = readReport(JSON.stringify(report));
  assert.equal(names.at(-1), '[sig-node] Pods excluded');
  assert.deepEqual(results, [
    { name: '[SynchronizedBeforeSuite] ', outcome: 'failed', message: 'no node', seconds: 2 },
    { name: '[sig-node] Pods should start', outcome: 'passed', message: '', seconds: 2 },
    { name: '[sig-node] Pods should stop', outcome: 'failed', message: 'too slow', seconds: 2 },
    { name: '[sig-node] Pods on Windows', outcome: 'skipped', message: 'only on Windows', seconds: 2 },
  ]);
});
