/** The runtime service's calls for version, status, configuration, events and exec. */
import { grpcCode } from '../../../src/shared/cri/cri-error.ts';
import type { ContainerEventResponse } from '../../../src/shared/cri/generated/cri-v1.ts';
import { cancelled, RpcError, unimplemented, unknown } from '../rpc-error.ts';
import type { SimulatedRuntime } from '../runtime.ts';
import type { RuntimeHandlers } from './handlers.ts';

/** A result of ExecSync, set over the control socket. Default: exit code 0 and the command on stdout. */
export interface ExecResult {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  readonly takesMs?: number;
}

/** Keyed by container ID, container name or pod name; `*` matches every container. */
export type ExecResults = Map<string, ExecResult>;

export function nodeCalls(runtime: SimulatedRuntime, execResults: ExecResults): RuntimeHandlers {
  const { machine } = runtime;
  return {
    async version(_request, call) {
      await call.work();
      const { runtimeName, runtimeVersion } = runtime.options;
      return { version: '0.1.0', runtimeName, runtimeVersion, runtimeApiVersion: 'v1' };
    },

    async status({ verbose }, call) {
      await call.work();
      const { networkReady, runtimeHandlers, mountOptions } = runtime.options;
      const network = networkReady
        ? { type: 'NetworkReady', status: true }
        : {
            type: 'NetworkReady',
            status: false,
            reason: 'NetworkPluginNotReady',
            message: 'Network plugin returns error: cni plugin not initialized',
          };
      return {
        status: { conditions: [{ type: 'RuntimeReady', status: true }, network] },
        info: verbose ? { config: '{}', golang: '"simulated"' } : {},
        runtimeHandlers: runtimeHandlers.map((name) => ({ name, features: { recursiveReadOnlyMounts: true, userNamespaces: false } })),
        features: { supplementalGroupsPolicy: true, mountOptions },
      };
    },

    async runtimeConfig(_request, call) {
      const { cgroupDriver } = runtime.options;
      if (cgroupDriver === 'unimplemented') throw unimplemented('RuntimeConfig');
      await call.work();
      return { linux: { cgroupDriver: cgroupDriver === 'systemd' ? 0 : 1 } };
    },

    async updateRuntimeConfig(_request, call) {
      await call.work();
      return {};
    },

    async execSync({ containerId, cmd, timeout }, call) {
      const container = machine.container(containerId);
      if (container.state !== 'running') {
        throw unknown(`failed to exec in container: container is in CONTAINER_${container.state.toUpperCase()} state`);
      }
      await call.work();
      const names = [containerId, container.config.metadata!.name, container.sandbox.config.metadata!.name, '*'];
      const result = names.map((name) => execResults.get(name)).find((found) => found !== undefined) ?? { stdout: `${cmd.join(' ')}\n` };
      const takesMs = result.takesMs ?? 0;
      const limitMs = timeout > 0n ? Number(timeout) * 1000 : Infinity;
      await runtime.clock.sleep(Math.min(takesMs, limitMs), call.signal).catch(() => undefined);
      if (call.signal.aborted) throw cancelled();
      if (takesMs > limitMs) {
        throw new RpcError(
          grpcCode.DEADLINE_EXCEEDED,
          `failed to exec in container: timeout ${timeout}s exceeded: context deadline exceeded`,
        );
      }
      return { stdout: Buffer.from(result.stdout ?? ''), stderr: Buffer.from(result.stderr ?? ''), exitCode: result.exitCode ?? 0 };
    },

    getContainerEvents(_request, { signal }) {
      if (!runtime.options.events) throw unimplemented('GetContainerEvents');
      return subscription(runtime, signal);
    },
  };
}

/** Yields the events of one subscriber until the call ends. The queue is unbounded: publishing never waits for a subscriber. */
async function* subscription(runtime: SimulatedRuntime, signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
  const queue: ContainerEventResponse[] = [];
  let wake = () => {};
  const unsubscribe = runtime.events.subscribe((event) => {
    queue.push(event);
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const event = queue.shift();
      if (event) yield event;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    unsubscribe();
  }
}
