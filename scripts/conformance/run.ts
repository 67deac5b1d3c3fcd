/**
 * `npm run test:conformance`: upstream's end-to-end tests of nodes against `bin/kubelet`, in a network namespace of their own.
 *
 *   node scripts/conformance/run.ts                       the tests of nodes with the labels NodeConformance or Conformance, without Slow
 *   node scripts/conformance/run.ts --focus Probing       those whose name matches a regular expression
 *     --skip PATTERN          not those
 *     --label-filter FILTER   ginkgo's label filter
 *     --procs N               tests at the same time (default 8; they mostly wait)
 *     --reports FOLDER        report.json, junit.xml, kubelet.log (default .cache/conformance-reports)
 *
 * Exits with 1 unless exactly the tests failed that test/conformance/expected.yaml lists.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { ensureBuilt } from '../build.ts';
import { ensureContainerd } from '../host/containerd/installations.ts';
import { NetworkNamespace } from '../test/network-namespace.ts';
import { ensureConformanceBinaries } from './binaries.ts';
import { ConformanceNode, containerdVersion } from './cluster-node.ts';
import { runGinkgo } from './ginkgo.ts';
import { computeVerdict, isGood, verdictText, type Expectation } from './verdict.ts';

const project = join(import.meta.dirname, '../..');
/** Set in the process that runs inside the namespace. */
const insideVariable = 'KUBELET_CONFORMANCE_NAMESPACE';

const { values } = parseArgs({
  options: {
    // Tests of the scheduler come with the suite's common part.
    focus: { type: 'string', multiple: true, default: [String.raw`\[sig-(node|storage|network)\]`] },
    skip: { type: 'string', multiple: true, default: [] },
    'label-filter': { type: 'string', default: '(NodeConformance || Conformance) && !Slow' },
    procs: { type: 'string', default: '8' },
    reports: { type: 'string', default: join(project, '.cache/conformance-reports') },
  },
});
const reports = resolve(values.reports);
const progress = (what: string) => console.log(`==> ${what}`);

const stopController = new AbortController();
const stop = stopController.signal;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopController.abort());

/** Runs this script again inside a namespace. Returns its exit code. */
async function runInNamespace(): Promise<number> {
  await ensureConformanceBinaries(progress);
  // The network namespace has no way to the mirrors.
  ensureContainerd(containerdVersion, 'inherit');
  ensureBuilt();
  const namespace = NetworkNamespace.create(0);
  try {
    const [command, args] = namespace.wrap(process.execPath, process.argv.slice(1));
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, [insideVariable]: namespace.name } });
    stop.addEventListener('abort', () => child.kill('SIGTERM'));
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    namespace.delete();
  }
}

async function runTests(): Promise<boolean> {
  const binaries = await ensureConformanceBinaries(progress);
  const expectations = parse(readFileSync(join(project, 'test/conformance/expected.yaml'), 'utf8')) as readonly Expectation[];
  const notRun = expectations.filter(({ outcome }) => outcome === 'not run');
  const node = new ConformanceNode();
  try {
    await node.start(binaries, progress);
    progress(`running the tests; the kubelet's log is ${node.kubeletLog}`);
    const { kubeconfig, kubectl } = node;
    const skip = [...values.skip, ...notRun.map(({ test }) => test.replaceAll(/[\^$.*+?()[\]{}|]/g, '\\$&'))];
    const options = { processes: Number(values.procs), labelFilter: values['label-filter'], focus: values.focus, skip, stop };
    const { names, results } = await runGinkgo({ binaries, kubeconfig, kubectl, reports, ...options });
    const verdict = computeVerdict(results, names, expectations);
    console.log(verdictText(verdict, notRun));
    return isGood(verdict);
  } finally {
    mkdirSync(reports, { recursive: true });
    if (existsSync(node.kubeletLog)) copyFileSync(node.kubeletLog, join(reports, 'kubelet.log'));
    await node.destroy();
  }
}

try {
  process.exitCode = process.env[insideVariable] === undefined ? await runInNamespace() : (await runTests()) ? 0 : 1;
} catch (err) {
  console.error(err);
  process.exitCode = 1;
}
process.exit();
