/**
 * `npm run test:conformance`: upstream's end-to-end tests against `bin/kubelet`, each list in a network namespace of its own. Prints a table of
 * all lists that have been run into the same folder.
 *
 *   node test/conformance/run.ts                       all lists of lists.ts, one after the other
 *   node test/conformance/run.ts nodes node-conformance
 *   node test/conformance/run.ts resizes               the lists whose names begin with "resizes-"
 *     --focus PATTERN         of these lists, the tests whose name matches a regular expression
 *     --skip PATTERN          not those
 *     --label-filter FILTER   ginkgo's label filter, instead of the list's
 *     --procs N               tests at the same time
 *     --reports FOLDER        for each list report.json, junit.xml, kubelet.log (default .cache/conformance-reports)
 *     --kubelet PATH          in a guest: another kubelet, such as the Go kubelet to compare with
 *     --commit                writes the counts of complete lists that were good into test/conformance/counts.yaml
 *
 * Exits with 1 unless exactly the tests failed that test/conformance/expected.yaml lists, and as many ran as counts.yaml has.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installGuest } from '../../lab/guest/install.ts';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import { removeCgroupWithin } from '../../lab/host/cgroups.ts';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { NetworkNamespace } from '../runner/network-namespace.ts';
import { ensureConformanceBinaries } from './binaries.ts';
import { commitCounts, countsTable } from './counts.ts';
import { suiteProgram, testLists, type TestList } from './lists.ts';
import { runList } from './run-list.ts';
import { containerdVersion } from './test-runtime.ts';

const project = join(import.meta.dirname, '../..');
/** Set in the process that runs inside the namespaces: a list's folder. */
const insideVariable = 'KUBELET_CONFORMANCE_FOLDER';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    focus: { type: 'string', multiple: true },
    skip: { type: 'string', multiple: true, default: [] },
    'label-filter': { type: 'string' },
    procs: { type: 'string' },
    reports: { type: 'string', default: join(project, '.cache/conformance-reports') },
    kubelet: { type: 'string' },
    commit: { type: 'boolean', default: false },
  },
});
const reports = resolve(values.reports);
const progress = (what: string) => console.log(`==> ${what}`);

const stopController = new AbortController();
const stop = stopController.signal;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopController.abort());

function chosenLists(): readonly TestList[] {
  const isNamed = ({ name }: TestList, given: string) => name === given || name.startsWith(`${given}-`);
  const unknown = positionals.find((given) => !testLists.some((list) => isNamed(list, given)));
  if (unknown !== undefined) throw new Error(`there is no list ${unknown}: ${testLists.map(({ name }) => name).join(', ')}`);
  return positionals.length === 0 ? testLists : testLists.filter((list) => positionals.some((given) => isNamed(list, given)));
}

/** Runs this script again for one list, inside its namespaces. */
async function runInNamespaces({ name, suite }: TestList): Promise<boolean> {
  const namespace = NetworkNamespace.create(0);
  const folder = mkdtempSync('/tmp/kns-');
  try {
    const script = [
      process.execPath,
      ...process.argv.slice(1, 2),
      name,
      ...process.argv.slice(2).filter((word) => !positionals.includes(word)),
    ];
    const privateHost = ['sh', join(import.meta.dirname, 'node-suite/private-host.sh'), folder];
    const [first = '', ...rest] = suite === 'node' ? [...privateHost, ...script] : script;
    const [command, args] = namespace.wrap(first, rest);
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, [insideVariable]: folder } });
    stop.addEventListener('abort', () => {
      // The program that creates the private host ignores signals. Its child, the host's init, hands them on.
      const pid = suite === 'node' ? firstChild(child.pid) : child.pid;
      if (pid !== undefined) process.kill(pid, 'SIGTERM');
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } finally {
    namespace.delete();
    await removeCgroupWithin(`/${basename(folder)}`, 5000);
    rmSync(folder, { recursive: true, force: true });
  }
}

function firstChild(pid = 0): number | undefined {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/) ?? [];
  return first === undefined ? undefined : Number(first);
}

async function runAll(): Promise<boolean> {
  const lists = chosenLists();
  await ensureConformanceBinaries(new Set(lists.map(suiteProgram)), progress);
  // The network namespace has no way to the mirrors.
  ensureContainerd(containerdVersion, 'inherit');
  ensureBuilt();
  if (lists.some(({ suite }) => suite === 'guest')) installGuest();
  const good: string[] = [];
  for (const list of lists) if (!stop.aborted && (await runInNamespaces(list))) good.push(list.name);
  console.log(countsTable(testLists, reports));
  if (values.commit) commitCounts(good, reports);
  return good.length === lists.length;
}

function runInside(folder: string): Promise<boolean> {
  const [list] = chosenLists();
  if (list === undefined) throw new Error('no list was chosen');
  const { focus = list.focus, skip, 'label-filter': labelFilter = list.labelFilter, procs = list.processes, kubelet } = values;
  const complete = values.focus === undefined && values['label-filter'] === undefined && skip.length === 0 && kubelet === undefined;
  const changed = { ...list, focus, labelFilter, skip: [...list.skip, ...skip], processes: Number(procs) };
  return runList({ list: changed, complete, folder, reports: join(reports, list.name), kubelet, stop, progress });
}

try {
  const folder = process.env[insideVariable];
  process.exitCode = (await (folder === undefined ? runAll() : runInside(folder))) ? 0 : 1;
} catch (err) {
  console.error(err);
  process.exitCode = 1;
}
process.exit();
