/** The runner of end-to-end files: what it runs again, and what its result and its report are. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runFiles } from '../../../scripts/e2e/run-files.ts';

const project = join(import.meta.dirname, '../../..');
const passes = '';
const fails = "throw new Error('always');";
const skips = 't.skip();';
/** Fails when it runs for the first time. */
const failsOnce =
  "const { existsSync, writeFileSync } = await import('node:fs'); const ran = `${import.meta.filename}.ran`; if (!existsSync(ran)) { writeFileSync(ran, ''); throw new Error('once'); }";

async function run(
  t: TestContext,
  bodies: Readonly<Record<string, string>>,
  alone: readonly string[] = [],
): Promise<{ passed: boolean; report: string; lanes: number[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'run-files-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const lines: string[] = [];
  t.mock.method(console, 'log', (line: string) => lines.push(line));
  const files = Object.entries(bodies).map(([name, body]) => {
    writeFileSync(join(folder, `${name}.test.mjs`), `import { test } from 'node:test';\ntest('${name}', async (t) => { ${body} });\n`);
    return relative(project, join(folder, `${name}.test.mjs`));
  });
  // A test runner inside a test runner prints for its parent, and not for people.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const opened: number[] = [];
  const openLane = (lane: number) => {
    opened.push(lane);
    return { wrap: (command: string, args: readonly string[]): [string, string[]] => [command, [...args]], env, close: () => {} };
  };
  const passed = await runFiles({
    files,
    alone: files.filter((file) => alone.includes(basename(file))),
    lanes: 2,
    openLane,
    title: 'these tests',
  });
  return { passed, report: lines.join('\n'), lanes: opened };
}

test('a run of files that pass passes', async (t) => {
  const { passed, report } = await run(t, { a: passes, b: passes, c: passes });
  assert.ok(passed);
  assert.match(report, /^3 passed, 0 failed, 0 skipped, 0 flaky files$/m);
});

test('a file that passes only at the second attempt is reported as flaky, with its failure', async (t) => {
  const { passed, report, lanes } = await run(t, { a: passes, b: failsOnce });
  assert.ok(passed, report);
  assert.deepEqual(lanes, [0, 1, 3], 'the second attempt has a lane of its own');
  assert.match(report, /Error: once/);
  assert.match(report, /^! .*b\.test\.mjs is flaky/m);
  assert.match(report, /^2 passed, 0 failed, 0 skipped, 1 flaky files$/m);
});

test('a file that needs the host for itself runs when the others have ended', async (t) => {
  const { passed, report, lanes } = await run(t, { a: passes, b: passes, c: passes }, ['a.test.mjs']);
  assert.ok(passed, report);
  assert.deepEqual(lanes, [0, 1, 2]);
  assert.match(report, /a\.test\.mjs: 1 passed in .* s \(3 of 3\)/);
});

test('a file that fails twice, or skips a test, fails the run', async (t) => {
  for (const body of [fails, skips]) {
    const { passed, report } = await run(t, { a: passes, b: body });
    assert.ok(!passed);
    assert.match(report, /^✖ .*b\.test\.mjs$/m);
  }
});

test('when many files fail none gets a second attempt', async (t) => {
  const { passed, report } = await run(t, { a: failsOnce, b: failsOnce, c: failsOnce, d: failsOnce });
  assert.ok(!passed);
  assert.doesNotMatch(report, /second attempt/);
});

test('a run without files fails', async (t) => {
  assert.ok(!(await run(t, {})).passed);
});
