/** `npm run up` after packages and modules are installed: starts runtime and kubelet and shows a live table. */
import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { build, isBuilt } from '../../lab/kubelet/build.ts';
import { containerdEndpoint } from '../../lab/containerd/containerd-config.ts';
import { PrivateContainerd, findRunningContainerd } from '../../lab/containerd/private-containerd.ts';
import { upPaths, project, type UpPaths } from './up-paths.ts';
import { findRunningPid, startDaemon } from '../../lab/host/daemon.ts';
import { lateEvictions, nodeConfiguration } from '../../lab/kubelet/node-configuration.ts';
import { fitToTerminal, formatPodTable, terminalSize } from './pod-table.ts';

const options = parseOptions();
if (options.help) {
  console.log(`npm run up -- [options]
  --simulate                   run on the simulated runtime: no root, no containerd
  --runtime-endpoint ENDPOINT  use this CRI runtime (unix:///…) instead of a private containerd
  --for SECONDS                show the table that long, then stop the kubelet and exit
Ctrl-C stops the kubelet; the pods keep running. npm run down removes everything.`);
  process.exit(0);
}

function parseOptions() {
  try {
    const { values } = parseArgs({
      options: {
        simulate: { type: 'boolean', default: false },
        'runtime-endpoint': { type: 'string' },
        for: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.for !== undefined && !/^\d+$/.test(values.for)) throw new Error(`--for ${values.for}: not a number of seconds`);
    return values;
  } catch (err) {
    console.error(`npm run up: ${err instanceof Error ? err.message : String(err)}\nsee npm run up -- --help`);
    return process.exit(2);
  }
}

function progress(what: string): void {
  console.log(`==> ${what}`);
}

async function startRuntime(paths: UpPaths): Promise<string> {
  if (options['runtime-endpoint'] !== undefined) return options['runtime-endpoint'];
  if (paths.simulate) return startSimulatedRuntime(paths);
  if (findRunningContainerd(paths.containerd) !== undefined) {
    progress('the private containerd runs already');
    return containerdEndpoint(paths.containerd);
  }
  progress(`starting a private containerd in ${paths.containerd}, with the example images`);
  const { endpoint } = await PrivateContainerd.start({
    folder: paths.containerd,
    network: '10.99',
    detached: true,
  });
  return endpoint;
}

async function startSimulatedRuntime(paths: UpPaths): Promise<string> {
  if (findRunningPid(paths.simulatedRuntime) === undefined) {
    progress('starting the simulated runtime');
    startDaemon(
      paths.simulatedRuntime,
      process.execPath,
      [join(project, 'dist/lab/simulated-runtime/index.js'), '--socket', paths.simulatedSocket],
      join(paths.folder, 'runtime.log'),
    );
    for (let attempt = 0; attempt < 200 && !existsSync(paths.simulatedSocket); attempt += 1) await sleep(25);
    if (!existsSync(paths.simulatedSocket))
      throw new Error(`the simulated runtime did not start; its output is in ${paths.folder}/runtime.log`);
  }
  return `unix://${paths.simulatedSocket}`;
}

/** Of a kubelet outside of a cluster. */
function configuration(paths: UpPaths, runtimeEndpoint: string): object {
  const { simulate, examples, kubelet, readOnlyPort, healthzPort } = paths;
  // The simulated runtime needs no root.
  const cgroupRoot = simulate ? null : paths.cgroupRoot;
  return {
    ...nodeConfiguration({ runtimeEndpoint, manifests: examples, podLogs: kubelet.podLogs, cgroupRoot }),
    registerNode: false,
    address: '127.0.0.1',
    readOnlyPort,
    healthzPort,
    ...lateEvictions,
  };
}

/** Returns null while the kubelet does not respond. */
async function fetchPods(paths: UpPaths): Promise<readonly Pod[] | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${paths.readOnlyPort}/pods`, { signal: AbortSignal.timeout(2000) });
    return ((await response.json()) as { items: readonly Pod[] | null }).items ?? [];
  } catch {
    return null;
  }
}

/** Redraws the table on a terminal with a size. Otherwise prints it when anything except an age has changed. */
async function showTable(paths: UpPaths, signal: AbortSignal): Promise<void> {
  let last = '';
  let linesUp = 0;
  while (!signal.aborted) {
    paths.kubelet.assertRunning();
    const pods = await fetchPods(paths);
    if (pods) {
      const table = formatPodTable(pods, Date.now());
      const withoutAges = formatPodTable(pods, 0);
      const size = terminalSize(process.stdout);
      if (size) {
        const lines = fitToTerminal(table, size);
        process.stdout.write(`${linesUp > 0 ? `\u001b[${linesUp}A\u001b[J` : ''}${lines.join('\n')}\n`);
        linesUp = lines.length;
      } else {
        linesUp = 0;
        if (withoutAges !== last) console.log(`${table}\n`);
      }
      last = withoutAges;
    }
    await sleep(500, undefined, { signal }).catch(() => {});
  }
}

const paths = upPaths(options.simulate);
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.abort());
// The reader of a pipe has closed it, like `head`.
process.stdout.on('error', () => ended.abort());
try {
  mkdirSync(paths.folder, { recursive: true, mode: 0o755 });
  if (!isBuilt()) {
    progress('compiling');
    build();
  }
  const endpoint = await startRuntime(paths);
  await paths.kubelet.stop();
  progress(`starting the kubelet on ${paths.examples} (its log: ${paths.kubelet.logFile})`);
  paths.kubelet.start({ nodeName: hostname().toLowerCase(), configuration: configuration(paths, endpoint), writtenBy: 'npm run up' });
  const timer = options.for === undefined ? undefined : setTimeout(() => ended.abort(), Number(options.for) * 1000);
  await showTable(paths, ended.signal);
  clearTimeout(timer);
} catch (err) {
  console.error(`npm run up: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = 1;
}
progress('stopping the kubelet; its pods keep running. npm run down removes everything');
await paths.kubelet.stop();
process.exit();
