/**
 * A CRI v1 runtime that only pretends to run containers, as a process of its own: for integration tests, benchmarks, and trying the
 * kubelet without root. It behaves like containerd where a kubelet can tell; image-behaviour.ts says what its containers do,
 * control-api.ts what can be done to it while it runs, options.ts what `--config` takes (JSON, or `@file`).
 *
 *   node bench/runtime/index.ts --socket /run/sim.sock [--control /run/sim-control.sock] [--config '{"preset":"containerd"}']
 *
 * Prints one line when it listens. Ends on SIGTERM and SIGINT, and when its stdin is a pipe that closes (`--with-parent`).
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/shared/time/clock.ts';
import { CallLog } from './call-log.ts';
import type { CallSurroundings } from './call.ts';
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

/** The cores that calls share; new ones when the option has changed. */
function workSharer(runtime: SimulatedRuntime): () => SharedWork | null {
  let made: { options: ContentionOptions; work: SharedWork } | null = null;
  return () => {
    const options = runtime.options.contention;
    if (options === null) return null;
    if (made?.options !== options) made = { options, work: new SharedWork(options, systemClock) };
    return made.work;
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
  const around: CallSurroundings = { runtime, faults: new FaultTable(), log: new CallLog(), sharedWork: workSharer(runtime) };
  const execResults: ExecResults = new Map();
  const server = new RuntimeServer(values.socket, around, execResults);
  await server.open();
  const control = values.control === undefined ? undefined : await serveControl(values.control, controlApi(around, server, execResults));
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
