/**
 * The entry of the simulated runtime: a process with a CRI v1 API that only simulates containers, for integration tests, benchmarks, and for
 * running the kubelet without root. Its observable behaviour is containerd's. image-behaviour.ts defines the behaviour of containers,
 * control-api.ts the control calls, options.ts the options of `--config` (JSON, or `@file`).
 *
 *   node lab/simulated-runtime/index.ts --socket /run/sim.sock [--control /run/sim-control.sock] [--config '{"preset":"containerd"}']
 *
 * Prints one line when it listens. Ends on SIGTERM and SIGINT and, with `--with-parent`, when its stdin closes.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/shared/time/clock.ts';
import { CallLog } from './call-log.ts';
import type { CallEnvironment } from './call.ts';
import type { ExecResults } from './calls/node-calls.ts';
import { SharedWork, type ContentionOptions } from './contention.ts';
import { controlApi, serveControl } from './control.ts';
import { FaultTable } from './faults.ts';
import { applyOptions, defaultOptions, type RuntimeOptions, type RuntimeOptionsInput } from './options.ts';
import { SimulatedRuntime } from './runtime.ts';
import { RuntimeServer } from './server.ts';

function readConfig(text: string): RuntimeOptions {
  const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text;
  return applyOptions(defaultOptions, JSON.parse(json) as RuntimeOptionsInput);
}

/** Returns the shared CPU model. Creates a new one when the option has changed. */
function workSharer(runtime: SimulatedRuntime): () => SharedWork | null {
  let current: { options: ContentionOptions; work: SharedWork } | null = null;
  return () => {
    const options = runtime.options.contention;
    if (options === null) return null;
    if (current?.options !== options) current = { options, work: new SharedWork(options, systemClock) };
    return current.work;
  };
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      socket: { type: 'string' },
      control: { type: 'string' },
      config: { type: 'string', default: '{}' },
      'with-parent': { type: 'boolean', default: false },
    },
  });
  if (values.socket === undefined) throw new Error('--socket is needed: the path of the unix socket to listen on');
  const runtime = new SimulatedRuntime(readConfig(values.config), systemClock);
  const environment: CallEnvironment = { runtime, faults: new FaultTable(), log: new CallLog(), sharedWork: workSharer(runtime) };
  const execResults: ExecResults = new Map();
  const server = new RuntimeServer(values.socket, environment, execResults);
  await server.open();
  const control =
    values.control === undefined ? undefined : await serveControl(values.control, controlApi(environment, server, execResults));
  const stop = () => {
    server.close();
    control?.close();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  if (values['with-parent']) process.stdin.on('end', stop).on('error', stop).resume();
  process.stdout.write(`simulated runtime listens on ${values.socket}\n`);
}

run().catch((err: unknown) => {
  process.stderr.write(`simulated runtime: ${err instanceof Error ? err.message : String(err)}\n`);
  process.exit(1);
});
