/** Serves the control socket. An invalid request gets an error reply and changes nothing. */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { CallEnvironment } from './call.ts';
import type { ExecResults } from './calls/node-calls.ts';
import type { ContainerState, ControlReply, ControlApi, ControlRequest, SandboxState } from './control-api.ts';
import type { Container, Sandbox } from './machine.ts';
import { seed } from './seed.ts';
import type { RuntimeServer } from './server.ts';

export function controlApi({ runtime, faults, log }: CallEnvironment, server: RuntimeServer, execResults: ExecResults): ControlApi {
  const { machine, processes } = runtime;
  return {
    seed: (options) => seed(runtime, options),
    state: () => ({
      sandboxes: [...machine.sandboxes.values()].map(toSandboxState),
      containers: [...machine.containers.values()].map(toContainerState),
    }),
    fault: (rule) => faults.add(rule),
    clearFaults: (faultID) => faults.clear(faultID),
    exitContainer(containerID, exitCode = 137, reason = '') {
      processes.end(machine.container(containerID), exitCode, reason);
      return runtime.clock.monotonic();
    },
    exitSandbox(sandboxID) {
      runtime.stopSandbox(machine.sandbox(sandboxID));
      return runtime.clock.monotonic();
    },
    loseContainer(containerID) {
      machine.container(containerID).state = 'unknown';
    },
    removeContainer(containerID) {
      const container = machine.container(containerID);
      processes.end(container, 137, '');
      runtime.removeContainer(container);
    },
    removeSandbox: (sandboxID) => runtime.removeSandbox(machine.sandbox(sandboxID)),
    closeSocket: () => server.close(),
    openSocket: () => server.open(),
    eventFaults: (given) => runtime.events.setFaults(given),
    eventSubscribers: () => runtime.events.subscribers,
    execResult: (subject, result) => void execResults.set(subject, result),
    addImage: (name, sizeBytes = runtime.options.imageSizeBytes) => runtime.images.add(name, sizeBytes).id,
    configure: (options) => runtime.configure(options),
    counters: () => log.counters(),
    calls: (call) => log.records(call),
    history: () => runtime.history.entries(),
    resetCounters: () => log.reset(),
    reset() {
      faults.clear();
      execResults.clear();
      runtime.reset();
      log.reset();
    },
    resourceUse() {
      const { user, system } = process.cpuUsage();
      return { cpuUserMs: user / 1000, cpuSystemMs: system / 1000, rssBytes: process.memoryUsage.rss() };
    },
  };
}

/** Rejects when the path can not be bound. */
export async function serveControl(path: string, api: ControlApi): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer((socket) => serveConnection(socket, api));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return server;
}

function serveConnection(socket: Socket, api: ControlApi): void {
  socket.on('error', () => socket.destroy());
  createInterface({ input: socket }).on('line', (line) => {
    void handleRequest(line, api).then((reply) => socket.write(`${JSON.stringify(reply)}\n`));
  });
}

async function handleRequest(line: string, api: ControlApi): Promise<ControlReply> {
  let id = 0;
  try {
    const request = JSON.parse(line) as ControlRequest;
    id = request.id;
    if (!Object.hasOwn(api, request.method)) throw new Error(`no such control call: ${request.method}`);
    const call = api[request.method] as (...params: readonly unknown[]) => unknown;
    return { id, result: (await call(...request.params)) ?? null };
  } catch (err) {
    return { id, error: err instanceof Error ? err.message : String(err) };
  }
}

function toMs(ns: bigint): number {
  return Number(ns) / 1e6;
}

function toSandboxState({ id, config, state, ip }: Sandbox): SandboxState {
  const { name, namespace, uid, attempt } = config.metadata!;
  return { id, name, namespace, podUID: uid, attempt, state, ip };
}

function toContainerState({ id, sandbox, config, state, exitCode, startedAtNs, finishedAtNs }: Container): ContainerState {
  const pod = sandbox.config.metadata!;
  const { name, attempt } = config.metadata!;
  return {
    id,
    sandboxID: sandbox.id,
    podUID: pod.uid,
    podName: pod.name,
    name,
    attempt,
    state,
    exitCode,
    startedAtMs: toMs(startedAtNs),
    finishedAtMs: toMs(finishedAtNs),
    mountOptions: config.mounts
      .filter(({ mountOptions }) => mountOptions.length > 0)
      .map(({ containerPath, mountOptions: options }) => ({ containerPath, options })),
  };
}
