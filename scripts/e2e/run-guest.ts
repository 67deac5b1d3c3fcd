/**
 * Runs the tests of test/guest, or the given ones, one file after the other: each boots a guest of its own. Prints one line per file, and the
 * complete output of failed files. Exits with 1 when a file failed, ran no test, or skipped one, and where no guest can run.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build, isBuilt } from '../build.ts';
import { installGuest } from '../host/guest/install.ts';
import { runTestFile } from './test-file.ts';

const project = join(import.meta.dirname, '../..');
const given = process.argv.slice(2);
const files = (given.length > 0 ? given : globSync('test/guest/**/*.test.ts', { cwd: project }).toSorted()).map((file) =>
  relative(project, resolve(project, file)),
);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

function install(): boolean {
  try {
    installGuest();
    execFileSync('sh', [join(project, 'scripts/host/packages.sh')], { stdio: 'inherit' });
    for (const version of ['1.7', '2.1']) {
      const installation = join(project, `.cache/containerd-${version}`);
      execFileSync('sh', [join(project, 'scripts/host/newer-containerd.sh'), version, installation], { stdio: 'inherit' });
    }
    if (!isBuilt()) build();
    return true;
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    console.error(`${files.length} files of guest tests did not run. KUBELET_TEST_SKIP=guest leaves them out of npm test`);
    return false;
  }
}

const totals = { passed: 0, failed: 0, skipped: 0 };
let succeeded = 0;
if (install()) {
  for (const file of files) {
    if (stop.signal.aborted) break;
    const wrap = (command: string, args: readonly string[]): [string, string[]] => [command, [...args]];
    const { ok, output, seconds, ...counts } = await runTestFile({ file, wrap, env: process.env, signal: stop.signal });
    for (const name of ['passed', 'failed', 'skipped'] as const) totals[name] += counts[name];
    const good = ok && counts.skipped === 0;
    if (good) succeeded += 1;
    console.log(
      `${good ? '✔' : '✖'} ${file}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds.toFixed(1)} s`,
    );
    if (!good) console.log(`${output.trimEnd()}\n`);
  }
}
console.log(`guest tests: ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = succeeded < files.length || files.length === 0 ? 1 : 0;
