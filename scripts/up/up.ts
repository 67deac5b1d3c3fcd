/** `npm run up`, once packages and modules are there: runtime, kubelet, live table. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { build, isBuilt } from '../build.ts';
import { endpointOf, PrivateContainerd, runningContainerd } from '../host/private-containerd.ts';
import { kubeletConfigText } from './kubelet-config.ts';
import { placeOf, project, type Place } from './up-paths.ts';
import { runningPid, startDaemon, stopDaemon } from './processes.ts';
import { fitted, podTable, terminalSize } from './table.ts';

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
    console.error(`npm run up: ${err instanceof Error ? err.message : String(err)}\nnpm run up -- --help says what there is`);
    return process.exit(2);
  }
}

function say(what: string): void {
  console.log(`==> ${what}`);
}

async function startRuntime(place: Place): Promise<string> {
  if (options['runtime-endpoint'] !== undefined) return options['runtime-endpoint'];
  if (place.simulate) return startSimulatedRuntime(place);
  if (runningContainerd(place.containerd) !== undefined) {
    say('the private containerd runs already');
    return endpointOf(place.containerd);
  }
  say(`starting a private containerd in ${place.containerd}, with the example images`);
  const { endpoint } = await PrivateContainerd.start({
    folder: place.containerd,
    network: '10.99',
    imageCache: place.imageCache,
    detached: true,
  });
  return endpoint;
}

async function startSimulatedRuntime(place: Place): Promise<string> {
  const daemon = { pidFile: join(place.folder, 'runtime.pid'), mark: place.simulatedSocket };
  if (runningPid(daemon) === undefined) {
    say('starting the simulated runtime');
    startDaemon(
      daemon,
      process.execPath,
      [join(project, 'dist/bench/runtime/index.js'), '--socket', place.simulatedSocket],
      join(place.folder, 'runtime.log'),
    );
    for (let attempt = 0; attempt < 200 && !existsSync(place.simulatedSocket); attempt += 1) await sleep(25);
    if (!existsSync(place.simulatedSocket))
      throw new Error(`the simulated runtime did not start; its output is in ${place.folder}/runtime.log`);
  }
  return `unix://${place.simulatedSocket}`;
}

/** Null while the kubelet does not answer. */
async function fetchPods(place: Place): Promise<readonly Pod[] | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${place.readOnlyPort}/pods`, { signal: AbortSignal.timeout(2000) });
    return ((await response.json()) as { items: readonly Pod[] | null }).items ?? [];
  } catch {
    return null;
  }
}

/** Draws in place on a terminal that has a size; elsewhere prints the whole table when anything but an age has changed. */
async function showTable(place: Place, kubelet: { readonly pidFile: string; readonly mark: string }, signal: AbortSignal): Promise<void> {
  let last = '';
  let linesUp = 0;
  while (!signal.aborted) {
    if (runningPid(kubelet) === undefined) {
      const log = readFileSync(place.kubeletLog, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
      throw new Error(`the kubelet has ended; the end of ${place.kubeletLog}:\n${log}`);
    }
    const pods = await fetchPods(place);
    if (pods) {
      const table = podTable(pods, Date.now());
      const withoutAges = podTable(pods, 0);
      const size = terminalSize(process.stdout);
      if (size) {
        const lines = fitted(table, size);
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

const place = placeOf(options.simulate);
const kubelet = { pidFile: place.kubeletPid, mark: place.kubeletConfig };
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort());
// Whoever reads the output through a pipe has gone, as `head` does.
process.stdout.on('error', () => ended.abort());
try {
  mkdirSync(place.folder, { recursive: true, mode: 0o755 });
  if (!isBuilt()) {
    say('compiling');
    build();
  }
  const endpoint = await startRuntime(place);
  await stopDaemon(kubelet);
  say(`starting the kubelet on ${place.examples} (its log: ${place.kubeletLog})`);
  writeFileSync(place.kubeletConfig, kubeletConfigText(place, endpoint));
  const args = ['--config', place.kubeletConfig, '--root-dir', place.kubeletRoot, '--hostname-override', hostname().toLowerCase()];
  startDaemon(kubelet, join(project, 'bin/kubelet'), args, place.kubeletLog);
  const timer = options.for === undefined ? undefined : setTimeout(() => ended.abort(), Number(options.for) * 1000);
  await showTable(place, kubelet, ended.signal);
  clearTimeout(timer);
} catch (err) {
  console.error(`npm run up: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = 1;
}
say('stopping the kubelet; its pods keep running. npm run down removes everything');
await stopDaemon(kubelet);
process.exit();
