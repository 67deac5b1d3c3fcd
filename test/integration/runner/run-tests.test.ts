/** The runner of builds and test files: what it runs again, what ends a run, and what its result and its report are. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Build } from '../../runner/builds.ts';
import { jobOfFile, type Need, type Part } from '../../runner/jobs.ts';
import { hasPassed, reportLines } from '../../runner/report.ts';
import { runTests } from '../../runner/run-tests.ts';

const project = join(import.meta.dirname, '../../..');
const passes = '';
const fails = "throw new Error('always');";
const skips = 't.skip();';
/** Fails when it runs for the first time. */
const failsOnce =
  "const { existsSync, writeFileSync } = await import('node:fs'); const ran = `${import.meta.filename}.ran`; if (!existsSync(ran)) { writeFileSync(ran, ''); throw new Error('once'); }";
const hangs = 'await new Promise((resolve) => setTimeout(resolve, 600_000));';

interface AFile {
  readonly name: string;
  readonly body: string;
  readonly part?: Part;
  readonly needs?: readonly Need[];
  readonly seconds?: number;
}

interface Outcome {
  readonly passed: boolean;
  readonly report: string;
  readonly ran: readonly string[];
}

async function run(t: TestContext, files: readonly AFile[], builds: readonly Build[] = [], repeatForMs = 60_000): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'run-tests-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const jobs = files.map(({ name, body, part = 'guest', needs = [], seconds = 60 }) => {
    const file = join(folder, `${name}.test.mjs`);
    writeFileSync(file, `import { test } from 'node:test';\ntest('${name}', async (t) => { ${body} });\n`);
    return jobOfFile(relative(project, file), part, needs, seconds);
  });
  const lines: string[] = [];
  // A test runner inside a test runner prints for its parent, and not for people.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const openLane = (number: number) => ({
    number,
    env,
    wrap: (_part: Part, command: string, args: readonly string[]): [string, string[]] => [command, [...args]],
    close: () => {},
  });
  const result = await runTests({
    jobs,
    builds,
    lanes: { always: 2, most: 2 },
    repeatUntilMs: performance.now() + repeatForMs,
    print: (text) => lines.push(text),
    openLane,
  });
  const times = { atSeconds: 0, busySeconds: 0 };
  lines.push(...reportLines(result, {}, { before: times, after: { atSeconds: 60, busySeconds: 60 }, cpus: 2 }));
  return { passed: hasPassed(result), report: lines.join('\n'), ran: [...result.results.keys()].map(({ name }) => name) };
}

test('a run of files that pass passes, and ends with its costs and counts', async (t) => {
  const { passed, report } = await run(t, [
    { name: 'a', body: passes },
    { name: 'b', body: passes },
    { name: 'c', body: passes },
  ]);
  assert.ok(passed, report);
  assert.match(report, /^wall 1\.0 min, 50 % of 2 CPUs busy, 1\.0 CPU-minutes, of which builds 0\.0; 0 flaky files$/m);
  assert.match(report, /^3 passed, 0 failed, 0 skipped$/m);
});

test('a file that passes only at the second attempt is reported as flaky, with its failure', async (t) => {
  for (const part of ['guest', 'integration'] as const) {
    const { passed, report } = await run(t, [
      { name: 'a', body: passes },
      { name: 'b', body: failsOnce, part },
    ]);
    assert.ok(passed, report);
    assert.match(report, /Error: once/);
    assert.match(report, /^! .*b\.test\.mjs is flaky/m);
    assert.match(report, /^2 passed, 0 failed, 0 skipped$/m);
  }
});

test('a file that fails twice, or skips a test, fails the run', async (t) => {
  for (const body of [fails, skips]) {
    const { passed, report } = await run(t, [
      { name: 'a', body: passes },
      { name: 'b', body },
    ]);
    assert.ok(!passed);
    assert.match(report, /^✖ .*b\.test\.mjs$/m);
  }
});

test('an integration file that fails twice ends the run', async (t) => {
  const { passed, report, ran } = await run(t, [
    { name: 'broken', body: fails, part: 'integration' },
    { name: 'long', body: hangs, seconds: 100 },
    { name: 'never', body: passes, seconds: 1 },
  ]);
  assert.ok(!passed);
  assert.ok(!ran.includes('never'));
  assert.match(report, /^✖ the run ended early: broken failed$/m);
  assert.match(report, /^✖ never did not run$/m);
});

test('when many files fail, or after an hour, none gets a second attempt', async (t) => {
  const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name, body: failsOnce }));
  for (const { passed, report } of [await run(t, many), await run(t, many.slice(0, 1), [], 0)]) {
    assert.ok(!passed);
    assert.doesNotMatch(report, /second attempt\)/);
  }
});

test('a file that takes much longer than expected is killed, and its test is named', async (t) => {
  const { passed, report } = await run(t, [{ name: 'slow', body: hangs, seconds: -18 }], [], 0);
  assert.ok(!passed);
  assert.match(report, /✖ slow/);
});

test('a file waits for the builds that it needs, and does not run when one fails', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'run-tests-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const built = join(folder, 'built');
  const builds: Build[] = [
    { name: 'good', provides: ['control-plane'], command: ['sh', '-c', `sleep 0.5; echo > ${built}`], isDownload: false },
    { name: 'bad', provides: ['guest-kernel'], command: ['sh', '-c', 'echo no compiler >&2; exit 3'], isDownload: false },
  ];
  const { passed, report, ran } = await run(
    t,
    [
      { name: 'waits', body: `(await import('node:fs')).statSync('${built}');`, needs: ['control-plane'] },
      { name: 'lost', body: passes, needs: ['guest-kernel'] },
    ],
    builds,
  );
  assert.ok(!passed);
  assert.deepEqual(ran, ['waits']);
  assert.match(report, /no compiler/);
  assert.match(report, /^1 passed, 0 failed/m);
  assert.match(report, /^✖ the build of bad failed: 1 jobs did not run$/m);
});

test('a run without files fails', async (t) => {
  assert.ok(!(await run(t, [])).passed);
});
