/** Starts the simulated runtime as a process, and speaks to its control socket. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ControlAnswer, ControlApi } from './control-api.ts';
import type { RuntimeOptionsInput } from './options.ts';

/** Every control call, asked from another process. */
export type ControlClient = {
  readonly [M in keyof ControlApi]: (...params: Parameters<ControlApi[M]>) => Promise<Awaited<ReturnType<ControlApi[M]>>>;
};

export interface SimulatedRuntimeProcess {
  /** `unix:///…`: what a kubelet is given. */
  readonly endpoint: string;
  readonly pid: number;
  readonly control: ControlClient;
  /** Ends it and removes its folder; resolves when the process is gone. */
  stop(): Promise<void>;
}

/** A start takes 0.3 s; on a machine full of tests many times that. */
const startTimeoutMs = 30_000;

/** Rejects with what the process said when it does not come up. */
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
    await untilReady(child);
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

async function untilReady(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-4000)));
  const ended = new AbortController();
  const lines = createInterface({ input: child.stdout! });
  const ready = once(lines, 'line', { signal: AbortSignal.any([AbortSignal.timeout(startTimeoutMs), ended.signal]) });
  child.once('exit', () => ended.abort());
  try {
    await ready;
  } catch (err) {
    throw new Error(`the simulated runtime did not start: ${said.trim() || 'it said nothing'}`, { cause: err });
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
    const answer = JSON.parse(line) as ControlAnswer;
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) asked?.reject(new Error(answer.error));
    else asked?.resolve(answer.result);
  });
  connection.on('error', () => connection.destroy());
  connection.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the simulated runtime is gone'));
    waiting.clear();
  });
  const ask = (method: string, params: readonly unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (connection.destroyed) return reject(new Error('the simulated runtime is gone'));
      const id = (lastID += 1);
      waiting.set(id, { resolve, reject });
      connection.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  return new Proxy({} as ControlClient, {
    // A promise's `then` must not look like a control call, or awaiting the client would ask for it.
    get: (_, method) => (typeof method === 'string' && method !== 'then' ? (...params: unknown[]) => ask(method, params) : undefined),
  });
}
