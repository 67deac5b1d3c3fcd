/**
 * Starts the parts that run pods on this node: exclusive resources, API objects, volumes, cgroups, the pod workers, and the parts that end pods (eviction,
 * node shutdown).
 */
import type { EvictionManager } from '../eviction/index.ts';
import type { PodUpdate } from '../sources/index.ts';
import type { SyncLoopHandlers } from '../sync-loop.ts';
import { listPodDirectories } from '../process/pod-directories.ts';
import type { Cluster } from './cluster.ts';
import { createAdmission } from './create-admission.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeServices } from './node-services.ts';
import { openExclusiveAllocations, type ExclusiveAllocationsStart } from './open-exclusive-allocations.ts';
import type { RuntimeServices } from './runtime-services.ts';
import { startEviction } from './start-eviction.ts';
import { startNodeCgroups } from './start-node-cgroups.ts';
import { startNodeShutdown } from './start-node-shutdown.ts';
import { startPodObjects, type PodObjects, type PodObjectsStart } from './start-pod-objects.ts';
import { startPods, type PodsStart } from './start-pods.ts';
import { startVolumes } from './start-volumes.ts';
import type { Volumes } from './create-volume-manager.ts';

/** The parts that startPodRunner creates and passes to startPods. */
type Made = PodObjects & Volumes & Pick<PodsStart, 'exclusiveAllocations' | 'podAdmission' | 'listPodDirectories'>;

export type PodRunnerOptions = KubeletContext &
  ExclusiveAllocationsStart &
  Pick<PodObjectsStart, 'providePullTokens'> &
  Omit<PodsStart, keyof Made | 'threads'> & {
    readonly runtime: RuntimeServices;
    readonly nodeServices: NodeServices;
    /** Null when standalone. */
    readonly cluster: Cluster | null;
  };

export interface PodRunner {
  /** The handlers that the sync loop calls. */
  readonly handlers: SyncLoopHandlers<PodUpdate>;
  readonly eviction: EvictionManager;
}

export async function startPodRunner(runner: PodRunnerOptions): Promise<PodRunner> {
  const exclusiveAllocations = await openExclusiveAllocations(runner);
  const podObjects = startPodObjects(runner);
  const volumes = await startVolumes({ ...runner, podObjects: podObjects.podObjects });
  startNodeCgroups(runner);
  const { workers, housekeeping, handlers } = startPods({
    ...runner,
    ...podObjects,
    ...volumes,
    exclusiveAllocations,
    podAdmission: createAdmission(runner),
    listPodDirectories: () => listPodDirectories(runner.options.flags.rootDirectory),
  });
  const eviction = startEviction({ ...runner, workers, housekeeping });
  startNodeShutdown({ ...runner, workers });
  return { handlers, eviction };
}
