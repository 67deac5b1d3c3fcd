/** What outlives a kubelet, and what its threads do with it. */
import { LargeWorkLimiter } from '../../../src/workers/pod-sync/pod/large-work.ts';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../../src/main/api/index.ts';
import type { EventSink } from '../../../src/main/events/index.ts';
import type { ContainerGcReply, ContainerGcRequest } from '../../../src/shared/contracts/images.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { ProbeOutcome, ProbeResult, ProbeType } from '../../../src/shared/contracts/probes.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { RuntimeSnapshotReader } from '../../../src/shared/state/runtime-snapshot.ts';
import { containersToRemove, sandboxesToRemove } from '../../../src/workers/images/container-gc/select-garbage.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';
import type { PodSyncDependencies } from '../../../src/workers/pod-sync/pod/dependencies.ts';
import { someHostInfo, someSettings } from '../pods/runtime-config-inputs.ts';
import type { ModelCgroups } from './model-cgroups.ts';
import type { ModelMachine } from './model-machine.ts';
import type { ModelVolumes } from './model-volumes.ts';
import type { ModelCheckpoints } from './model-checkpoints.ts';
import { MortalClock, type Life, type ModelClock } from './model-clock.ts';
import { modelLogger as logger } from './model-log.ts';
import type { ModelRuntime } from './model-runtime.ts';
import type { RuntimeCalls } from './runtime-calls.ts';

export interface ModelHost {
  readonly clock: ModelClock;
  readonly cgroupVersion: 1 | 2;
  readonly machine: ModelMachine;
  readonly volumes: ModelVolumes;
  readonly runtime: ModelRuntime;
  readonly calls: RuntimeCalls;
  readonly folder: string;
  /** The kubelet's root directory, in the folder. */
  readonly rootDir: string;
  readonly checkpoints: ModelCheckpoints;
  readonly cgroups: ModelCgroups;
  readonly client: (life: Life) => ApiClient;
  /** The objects in the kubelet's watch cache. */
  readonly apiPods: { get(uid: PodUID): Pod | undefined };
  readonly outcome: (podUID: string, container: string, probe: ProbeType) => ProbeOutcome;
  readonly onProbeResult: (result: ProbeResult) => void;
  readonly onEvent: EventSink['record'];
  /** The runtime's event stream; null: the kubelet does not use it. */
  readonly events: PlegRuntime['events'] | null;
}

/** With v2 the kernel also protects memory and throttles. */
export function settingsOf(cgroupVersion: 1 | 2): PodSyncSettings {
  const memoryQos = { memoryReservationPolicy: 'TieredReservation', memoryThrottlingFactor: 0.9 };
  return { ...someSettings, cgroupVersion, ...(cgroupVersion === 2 && memoryQos) };
}

/** The images thread's garbage collection, on the real selection. */
export async function collectGarbage(
  { runtime, clock }: ModelHost,
  snapshot: RuntimeSnapshotReader,
  request: ContainerGcRequest,
): Promise<ContainerGcReply> {
  if (snapshot.relistedAtMs === 0) return { removedContainers: 0, removedSandboxes: 0 };
  const items = [...snapshot.all()];
  const removed = new Set<string>();
  for (const { id } of containersToRemove(items, request, clock.now())) {
    if (runtime.containers.get(id)?.state === 'running') continue;
    runtime.removeContainer(id);
    removed.add(id);
  }
  const sandboxes = sandboxesToRemove(items, removed, request);
  for (const { id } of sandboxes) runtime.removeSandbox(id);
  return { removedContainers: removed.size, removedSandboxes: sandboxes.length };
}

export function removeDead({ runtime }: ModelHost, id: string): void {
  const container = runtime.containers.get(id);
  if (!container || container.state === 'running') return;
  rmSync(join(container.sandbox.config.logDirectory, container.config.logPath), { force: true });
  runtime.removeContainer(id);
}

/** The dependencies of a thread of the sync pool, which end with its life. */
export function taskDependencies(host: ModelHost, kubelet: Life, thread: Life): PodSyncDependencies {
  const { folder, rootDir, calls, cgroups, volumes } = host;
  const life = {
    get isAlive() {
      return kubelet.isAlive && thread.isAlive;
    },
  } as Life;
  life.guard = (work) => kubelet.guard(thread.guard(work));
  const settings: PodSyncSettings = {
    ...settingsOf(host.cgroupVersion),
    rootDir,
    podLogsDir: join(folder, 'pods'),
    containerLogsDir: join(folder, 'containers'),
    maxContainerBackOffMs: 40_000,
    resolvConf: '',
  };
  const nothing = () => Promise.resolve();
  mkdirSync(settings.containerLogsDir, { recursive: true });
  return {
    settings,
    largeWork: new LargeWorkLimiter(),
    runtime: calls.forTasks(life),
    cgroups: cgroups.podCgroups(life, settings),
    volumes: {
      mountVolumes: async ({ pod }) => (volumes.mount(pod), []),
      resizeMemoryVolume: ({ pod, volume }) => life.guard(volumes.resize(life, pod, volume)),
      makeContainerMounts: async () => [],
      writeHostsFile: nothing,
      readEnvFiles: async () => new Map(),
      unmountVolumes: nothing,
      removePodDirectory: async (uid) => {
        volumes.remove(uid);
        rmSync(join(rootDir, 'pods', uid), { recursive: true, force: true });
      },
    },
    hostInfo: { read: async () => someHostInfo },
    httpGet: async () => {},
    clock: new MortalClock(host.clock, life),
    logger,
  };
}
