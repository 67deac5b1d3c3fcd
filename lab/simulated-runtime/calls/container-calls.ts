/** The container calls of the runtime service. */
import { containerBehaviour, sigkillExitCode, type ContainerBehaviour } from '../image-behaviour.ts';
import { streamChunkItems } from '../lists.ts';
import type { Container } from '../machine.ts';
import { cancelled, unimplemented, unknown } from '../rpc-error.ts';
import type { SimulatedRuntime } from '../runtime.ts';
import type { CallContext } from '../call.ts';
import type { RuntimeHandlers } from './handlers.ts';

export function containerCalls(runtime: SimulatedRuntime): RuntimeHandlers {
  const { machine, processes } = runtime;
  const behaviours = new WeakMap<Container, ContainerBehaviour>();
  return {
    async createContainer({ podSandboxId, config }, call) {
      const container = machine.reserveContainer(podSandboxId, config, (name) => runtime.images.resolve(name)?.id);
      try {
        const behaviour = behaviourOf(container, runtime);
        if (behaviour.createFails) throw unknown('failed to create containerd container: simulated failure of CreateContainer');
        behaviours.set(container, behaviour);
        await call.work();
      } catch (err) {
        machine.abandonContainer(container);
        throw err;
      }
      machine.commitContainer(container, runtime.nowNs());
      runtime.publishEvent('created', container.id, container.sandbox);
      return { containerId: container.id };
    },

    async startContainer({ containerId }, call) {
      const container = machine.beginStart(containerId);
      runtime.history.add('startRequested', container);
      try {
        await call.work();
        const behaviour = behaviours.get(container) ?? behaviourOf(container, runtime);
        if (behaviour.startFails)
          throw unknown('failed to start containerd task: OCI runtime start failed: simulated failure of StartContainer');
        processes.start(container, behaviour);
      } catch (err) {
        const message = err instanceof Error ? err.message : String(err);
        machine.markStartFailed(container, runtime.nowNs(), message);
        throw err;
      }
      machine.markStarted(container, runtime.nowNs());
      runtime.history.add('started', container);
      runtime.publishEvent('started', container.id, container.sandbox);
      return {};
    },

    async stopContainer({ containerId, timeout }, call) {
      const container = machine.containers.get(containerId);
      if (!container) return {};
      runtime.history.add('stopRequested', container, Number(timeout));
      await stop(container, Number(timeout) * 1000, call, runtime);
      return {};
    },

    async removeContainer({ containerId }, call) {
      const container = machine.containers.get(containerId);
      if (!container) return {};
      if (runtime.options.removeRunning === 'stop') processes.end(container, sigkillExitCode, '');
      machine.beginRemove(container);
      try {
        await call.work();
      } catch (err) {
        container.removing = false;
        throw err;
      }
      runtime.removeContainer(container);
      return {};
    },

    async containerStatus({ containerId, verbose }, call) {
      await call.work();
      const container = machine.container(containerId);
      const status = runtime.statusOf(container);
      if (!verbose) return { status };
      const pid = container.state === 'running' ? 4243 : 0;
      return { status, info: { info: JSON.stringify({ sandboxID: container.sandbox.id, pid, removing: container.removing }) } };
    },

    async listContainers({ filter }, call) {
      await call.work();
      return runtime.lists.containers(machine.containers.values(), filter);
    },

    async streamContainers({ filter }, call) {
      if (!runtime.options.streamingLists) throw unimplemented('StreamContainers');
      await call.work();
      return runtime.lists.containers(machine.containers.values(), filter).inChunks(streamChunkItems);
    },

    async updateContainerResources({ containerId, linux }, call) {
      await call.work();
      const container = machine.container(containerId);
      if (container.state !== 'running' && container.state !== 'created') {
        throw unknown(`failed to update resources: container is in CONTAINER_${container.state.toUpperCase()} state`);
      }
      if (linux) container.resources = { ...container.resources, ...linux };
      return {};
    },

    async reopenContainerLog({ containerId }, call) {
      await call.work();
      const container = machine.container(containerId);
      if (container.state !== 'running') throw unknown('container is not running');
      processes.reopenLog(container);
      return {};
    },
  };
}

/** Sends the stop signal, waits for the grace period, then kills the container. Does nothing if the container does not run. */
async function stop(container: Container, graceMs: number, call: CallContext, { processes }: SimulatedRuntime): Promise<void> {
  if (container.state !== 'running' && container.state !== 'unknown') return;
  await call.work();
  if (graceMs > 0) {
    processes.terminate(container);
    if (await processes.waitForEnd(container, graceMs, call.signal)) return;
    if (call.signal.aborted) throw cancelled();
  }
  processes.kill(container);
}

/** Uses the image name of the pod spec, because the kubelet requests the image by ID. */
function behaviourOf({ config, imageID }: Container, runtime: SimulatedRuntime): ContainerBehaviour {
  const tags = [...(runtime.images.resolve(imageID)?.references ?? [])];
  const image = config.image?.userSpecifiedImage || tags[0] || config.image?.image || '';
  const env = new Map(config.envs.map(({ key, value }) => [key, Buffer.from(value).toString()]));
  return containerBehaviour(image, env);
}
