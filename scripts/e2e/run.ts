/**
 * Runs the end-to-end test files concurrently, in lanes:
 *
 *   node scripts/e2e/run.ts                             all files
 *   node scripts/e2e/run.ts test/e2e/streams.test.ts    these files
 *
 * A lane is a network namespace with its own control plane, and each file starts its own containerd. A lane runs its files sequentially.
 * KUBELET_TEST_LANES sets the number of lanes; default: one per core, at most four. Prints a line per file, and the complete output of failed
 * files. Exits with 1 when a file failed, ran no test, or skipped one.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { ensureMetricsServer } from '../host/metrics-server-binary.ts';
import { sortLongestFirst, readSeconds, writeSeconds } from './file-order.ts';
import { deleteStaleNamespaces, NetworkNamespace } from './network-namespace.ts';
import { runTestFile, type FileResult } from './test-file.ts';

const project = join(import.meta.dirname, '../..');
const metricsServerTest = 'test/e2e/cluster/metrics-server.test.ts';
const defaultLanes = Math.min(4, availableParallelism());

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : globSync('test/e2e/**/*.test.ts', { cwd: project })).map((file) =>
  relative(project, resolve(project, file)),
);
const measured = { ...readSeconds() };
const queue = sortLongestFirst(files, measured);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

const totals = { passed: 0, failed: 0, skipped: 0 };
const failedFiles: string[] = [];
let ended = 0;

/** Takes files from the queue until it is empty. */
async function runLane(lane: number): Promise<void> {
  const namespace = NetworkNamespace.create(lane);
  const env = { ...process.env, KUBELET_TEST_RUN: String(process.pid), KUBELET_TEST_LANE: String(lane) };
  try {
    for (let file = queue.shift(); file !== undefined && !stop.signal.aborted; file = queue.shift()) {
      const wrap = (command: string, args: readonly string[]) => namespace.wrap(command, args);
      report(file, await runTestFile({ file, wrap, env, signal: stop.signal }));
    }
  } finally {
    namespace.delete();
  }
}

function report(file: string, { ok, output, ...counts }: FileResult): void {
  ended += 1;
  totals.passed += counts.passed;
  totals.failed += counts.failed;
  totals.skipped += counts.skipped;
  const succeeded = ok && counts.skipped === 0;
  if (succeeded) measured[file] = counts.seconds;
  else failedFiles.push(file);
  const others = [counts.failed > 0 ? `, ${counts.failed} failed` : '', counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''].join('');
  const progress = `${ended} of ${files.length}`;
  console.log(`${succeeded ? '✔' : '✖'} ${file}: ${counts.passed} passed${others} in ${counts.seconds.toFixed(1)} s (${progress})`);
  if (!succeeded) console.log(`${output.trimEnd()}\n`);
}

deleteStaleNamespaces();
// A lane has no network to the package and module mirrors.
for (const version of ['1.7', '2.1', '2.3']) {
  const installation = join(project, `.cache/containerd-${version}`);
  execFileSync('sh', [join(project, 'scripts/host/newer-containerd.sh'), version, installation], { stdio: 'inherit' });
}
if (files.includes(metricsServerTest)) await ensureMetricsServer((what) => console.log(`==> ${what}`));
const lanes = Math.max(1, Math.min(Number(process.env.KUBELET_TEST_LANES ?? defaultLanes) || 1, files.length));
console.log(`${files.length} files in ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`);
const startedMs = performance.now();
await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
writeSeconds(measured);
for (const file of failedFiles) console.log(`✖ ${file}`);
console.log(`end-to-end tests took ${Math.round((performance.now() - startedMs) / 1000)} s`);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = failedFiles.length > 0 || ended < files.length ? 1 : 0;
