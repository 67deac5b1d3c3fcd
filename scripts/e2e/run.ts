/**
 * Runs the end-to-end test files concurrently, in lanes:
 *
 *   node scripts/e2e/run.ts                             all files
 *   node scripts/e2e/run.ts test/e2e/streams.test.ts    these files
 *
 * A lane is a network namespace with its own control plane, and each file starts its own containerd. A lane runs its files sequentially.
 * KUBELET_TEST_LANES sets the number of lanes; default: one per core, at most four. Exits with 1 when a file failed twice, ran no test, or skipped
 * one.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { ensureMetricsServer } from '../host/metrics-server-binary.ts';
import { deleteStaleNamespaces, NetworkNamespace } from './network-namespace.ts';
import { runFiles, type Lane } from './run-files.ts';

const project = join(import.meta.dirname, '../..');
/** Its hierarchy of cgroups is in the list of every process. While that is so, containerd notices no process that is out of memory. */
const hugePagesTest = 'test/e2e/huge-pages.test.ts';
const metricsServerTest = 'test/e2e/cluster/metrics-server.test.ts';
const defaultLanes = Math.min(4, availableParallelism());

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : globSync('test/e2e/**/*.test.ts', { cwd: project })).map((file) =>
  relative(project, resolve(project, file)),
);

function openLane(lane: number): Lane {
  const namespace = NetworkNamespace.create(lane);
  const env = { ...process.env, KUBELET_TEST_RUN: String(process.pid), KUBELET_TEST_LANE: String(lane) };
  return { env, wrap: (command, args) => namespace.wrap(command, args), close: () => namespace.delete() };
}

deleteStaleNamespaces();
// A lane has no network to the package and module mirrors.
for (const version of ['1.7', '2.1', '2.3']) {
  const installation = join(project, `.cache/containerd-${version}`);
  execFileSync('sh', [join(project, 'scripts/host/newer-containerd.sh'), version, installation], { stdio: 'inherit' });
}
if (files.includes(metricsServerTest)) await ensureMetricsServer((what) => console.log(`==> ${what}`));
const lanes = Math.max(1, Math.min(Number(process.env.KUBELET_TEST_LANES ?? defaultLanes) || 1, files.length));
process.exitCode = (await runFiles({ files, alone: [hugePagesTest], lanes, openLane, title: 'end-to-end tests' })) ? 0 : 1;
