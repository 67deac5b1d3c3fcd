/** Starts the simulated runtime as a process and connects to its control socket. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ControlReply, ControlApi } from './control-api.ts';
import type { RuntimeOptionsInput } from './options.ts';

/** The control API, called from another process. */
export type ControlClient = {
  readonly [M in keyof ControlApi]: (...params: Parameters<ControlApi[M]>) => Promise<Awaited<ReturnType<ControlApi[M]>>>;
};

export interface SimulatedRuntimeProcess {
  /** `unix:///…`, the kubelet's containerRuntimeEndpoint. */
  readonly endpoint: string;
  readonly pid: number;
  readonly control: ControlClient;
  /** Ends the process and removes its folder. Resolves when the process has exited. */
  stop(): Promise<void>;
}

/** A start takes 0.3 s, and much longer on a machine that runs many tests. */
const startTimeoutMs = 30_000;

/** Rejects with the process' stderr when it does not start. */
export async function startRuntimeProcess(options: RuntimeOptionsInput = {}): Promise<SimulatedRuntimeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'simulated-runtime-'));
  const socket = join(folder, 'cri.sock');
  const controlSocket = join(folder, 'control.sock');
  const entry = fileURLToPath(new URL(`./index${extname(import.meta.url)}`, import.meta.url));
  const args = [
    '--single-threaded-gc',
    entry,
    '--socket',
    socket,
    '--control',
    controlSocket,
    '--config',
    JSON.stringify(options),
    '--with-parent',
  ];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  try {
    await waitUntilReady(child);
    const connection = connect(controlSocket);
    await once(connection, 'connect');
    const control = controlClient(connection);
    const stop = async () => {
      connection.destroy();
      await end(child);
      await rm(folder, { recursive: true, force: true });
    };
    return { endpoint: `unix://${socket}`, pid: child.pid!, control, stop };
  } catch (err) {
    await end(child);
    await rm(folder, { recursive: true, force: true });
    throw err;
  }
}

async function waitUntilReady(child: ChildProcess): Promise<void> {
  let stderr = '';
  child.stderr!.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(-4000)));
  const ended = new AbortController();
  const lines = createInterface({ input: child.stdout! });
  const ready = once(lines, 'line', { signal: AbortSignal.any([AbortSignal.timeout(startTimeoutMs), ended.signal]) });
  child.once('exit', () => ended.abort());
  try {
    await ready;
  } catch (err) {
    throw new Error(`the simulated runtime did not start: ${stderr.trim() || 'no output'}`, { cause: err });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

function controlClient(connection: Socket): ControlClient {
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (err: Error) => void }>();
  let lastID = 0;
  createInterface({ input: connection }).on('line', (line) => {
    const reply = JSON.parse(line) as ControlReply;
    const request = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ('error' in reply) request?.reject(new Error(reply.error));
    else request?.resolve(reply.result);
  });
  connection.on('error', () => connection.destroy());
  connection.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the simulated runtime is gone'));
    waiting.clear();
  });
  const call = (method: string, params: readonly unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (connection.destroyed) return reject(new Error('the simulated runtime is gone'));
      const id = (lastID += 1);
      waiting.set(id, { resolve, reject });
      connection.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  return new Proxy({} as ControlClient, {
    // `then` is excluded, because `await` on the client would call it.
    get: (_, method) => (typeof method === 'string' && method !== 'then' ? (...params: unknown[]) => call(method, params) : undefined),
  });
}
