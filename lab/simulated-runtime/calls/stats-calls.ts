/** The statistics calls. The numbers are synthetic but consistent: CPU time grows with a container's age, memory is constant. */
import type { ContainerStats } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { Container, Sandbox } from '../machine.ts';
import { shuffle } from '../shuffle.ts';
import type { SimulatedRuntime } from '../runtime.ts';
import type { RuntimeHandlers } from './handlers.ts';

/** A container uses 5 millicores and 8 to 24 MiB. */
const nanoCores = 5_000_000n;
const baseMemoryBytes = 8 * 1024 * 1024;

export function statsCalls(runtime: SimulatedRuntime): RuntimeHandlers {
  const { machine } = runtime;
  const statsOf = (container: Container, nowNs: bigint) =>
    runtime.options.containerStats === 'kata' ? kataStats(container, nowNs) : containerStats(container, nowNs);
  return {
    async containerStats({ containerId }, call) {
      await call.work();
      return { stats: statsOf(machine.container(containerId), runtime.nowNs()) };
    },

    async listContainerStats({ filter }, call) {
      await call.work();
      const chosen = [...machine.containers.values()].filter(
        ({ id, sandbox, state }) =>
          state === 'running' &&
          (filter === undefined || filter.id === '' || filter.id === id) &&
          (filter === undefined || filter.podSandboxId === '' || filter.podSandboxId === sandbox.id),
      );
      const nowNs = runtime.nowNs();
      return { stats: shuffle(chosen, runtime.random).map((container) => statsOf(container, nowNs)) };
    },

    async podSandboxStats({ podSandboxId }, call) {
      await call.work();
      return { stats: sandboxStats(machine.sandbox(podSandboxId), runtime.nowNs()) };
    },

    async listPodSandboxStats({ filter }, call) {
      await call.work();
      const chosen = [...machine.sandboxes.values()].filter(
        ({ id, state }) => state === 'ready' && (filter === undefined || filter.id === '' || filter.id === id),
      );
      const nowNs = runtime.nowNs();
      return { stats: shuffle(chosen, runtime.random).map((sandbox) => sandboxStats(sandbox, nowNs)) };
    },
  };
}

/** Returns a number from 0 to 1 from the first byte of the container ID. */
function share(id: string): number {
  return Number.parseInt(id.slice(0, 2), 16) / 255;
}

function containerStats(container: Container, nowNs: bigint): ContainerStats {
  const { id, config, startedAtNs } = container;
  const runNs = startedAtNs === 0n ? 0n : nowNs - startedAtNs;
  const memoryBytes = BigInt(Math.round(baseMemoryBytes * (1 + 2 * share(id))));
  return {
    attributes: { id, metadata: config.metadata, labels: config.labels, annotations: config.annotations },
    cpu: {
      timestamp: nowNs,
      usageCoreNanoSeconds: { value: (runNs * nanoCores) / 1_000_000_000n },
      usageNanoCores: { value: nanoCores },
      psi: undefined,
    },
    memory: {
      timestamp: nowNs,
      workingSetBytes: { value: memoryBytes },
      availableBytes: undefined,
      usageBytes: { value: memoryBytes },
      rssBytes: { value: memoryBytes / 2n },
      pageFaults: { value: 1000n },
      majorPageFaults: { value: 0n },
      psi: undefined,
    },
    writableLayer: { timestamp: nowNs, fsId: { mountpoint: '/' }, usedBytes: { value: 65_536n }, inodesUsed: { value: 20n } },
    swap: undefined,
    io: undefined,
  };
}

/** A real one takes seconds. */
const bootNs = 100_000_000n;

function kataStats(container: Container, nowNs: bigint): ContainerStats {
  const full = containerStats(container, nowNs);
  const { cpu, memory } = full;
  if (nowNs - container.startedAtNs < bootNs) return { ...full, cpu: undefined, memory: undefined };
  const none = { value: 0n };
  return {
    ...full,
    cpu: { ...cpu!, usageNanoCores: none },
    // Without a limit there is nothing available, and without inactive files the working set is the usage.
    memory: { ...memory!, availableBytes: none, rssBytes: none, pageFaults: none, majorPageFaults: none },
  };
}

function sandboxStats(sandbox: Sandbox, nowNs: bigint) {
  const running = [...sandbox.containers].filter(({ state }) => state === 'running');
  const containers = running.map((container) => containerStats(container, nowNs));
  const sum = (of: (stats: ContainerStats) => bigint | undefined) => containers.reduce((total, stats) => total + (of(stats) ?? 0n), 0n);
  const memory = { value: sum(({ memory }) => memory?.workingSetBytes?.value) };
  const { metadata, labels, annotations } = sandbox.config;
  return {
    attributes: { id: sandbox.id, metadata, labels, annotations },
    linux: {
      cpu: {
        timestamp: nowNs,
        usageCoreNanoSeconds: { value: sum(({ cpu }) => cpu?.usageCoreNanoSeconds?.value) },
        usageNanoCores: { value: nanoCores * BigInt(containers.length) },
      },
      memory: { timestamp: nowNs, workingSetBytes: memory, usageBytes: memory },
      process: { timestamp: nowNs, processCount: { value: BigInt(containers.length + 1) } },
      containers,
    },
  };
}
