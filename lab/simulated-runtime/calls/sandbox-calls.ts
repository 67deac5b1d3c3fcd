/** The pod sandbox calls of the runtime service. */
import { streamChunkItems } from '../lists.ts';
import { toPodSandboxStatus } from '../messages.ts';
import { unimplemented, unknown } from '../rpc-error.ts';
import type { SimulatedRuntime } from '../runtime.ts';
import type { RuntimeHandlers } from './handlers.ts';

export function sandboxCalls(runtime: SimulatedRuntime): RuntimeHandlers {
  const { machine } = runtime;
  return {
    async runPodSandbox({ config, runtimeHandler }, call) {
      if (!runtime.options.runtimeHandlers.includes(runtimeHandler)) {
        throw unknown(`failed to get sandbox runtime: no runtime for ${JSON.stringify(runtimeHandler)} is configured`);
      }
      const sandbox = machine.reserveSandbox(config, runtimeHandler);
      try {
        await call.work();
      } catch (err) {
        machine.abandonSandbox(sandbox);
        throw err;
      }
      machine.commitSandbox(sandbox, runtime.nowNs());
      runtime.publishEvent('created', sandbox.id, sandbox);
      runtime.publishEvent('started', sandbox.id, sandbox);
      return { podSandboxId: sandbox.id };
    },

    async stopPodSandbox({ podSandboxId }, call) {
      const sandbox = machine.sandboxes.get(podSandboxId);
      if (!sandbox) return {};
      if (sandbox.state === 'ready') await call.work();
      runtime.stopSandbox(sandbox);
      return {};
    },

    async removePodSandbox({ podSandboxId }, call) {
      const sandbox = machine.sandboxes.get(podSandboxId);
      if (!sandbox) return {};
      await call.work();
      if (machine.sandboxes.has(podSandboxId)) runtime.removeSandbox(sandbox);
      return {};
    },

    async podSandboxStatus({ podSandboxId, verbose }, call) {
      await call.work();
      const sandbox = machine.sandbox(podSandboxId);
      const status = toPodSandboxStatus(sandbox, runtime.random);
      if (!verbose) return { status };
      const info = { pid: sandbox.state === 'ready' ? 4242 : 0, processStatus: sandbox.state === 'ready' ? 'running' : 'deleted' };
      return { status, info: { info: JSON.stringify({ ...info, runtimeHandler: sandbox.runtimeHandler, config: sandbox.config }) } };
    },

    async listPodSandbox({ filter }, call) {
      await call.work();
      return runtime.lists.sandboxes(machine.sandboxes.values(), filter);
    },

    async streamPodSandboxes({ filter }, call) {
      if (!runtime.options.streamingLists) throw unimplemented('StreamPodSandboxes');
      await call.work();
      return runtime.lists.sandboxes(machine.sandboxes.values(), filter).inChunks(streamChunkItems);
    },

    async updatePodSandboxResources({ podSandboxId }, call) {
      await call.work();
      machine.sandbox(podSandboxId);
      return {};
    },
  };
}
