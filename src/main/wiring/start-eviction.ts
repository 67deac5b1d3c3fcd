/** Creates the eviction manager on the tables of the stats and images threads, and starts its passes. */
import { StorageReader } from '../../shared/state/storage-table.ts';
import { UsageReader } from '../../shared/state/usage-table.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import type { EventSink } from '../events/index.ts';
import { EvictionManager, liveEvictionSettings, readNodeStats, readPodStats } from '../eviction/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import { neededImages, type Housekeeping } from '../pods/housekeeping/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeServices } from './node-services.ts';
import type { RuntimeServices } from './runtime-services.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface EvictionStart extends Pick<
  KubeletContext,
  'clock' | 'options' | 'nodeName' | 'threads' | 'log' | 'shutdown' | 'podLifecycle'
> {
  readonly runtime: Pick<RuntimeServices, 'images'>;
  readonly workers: Pick<PodWorkers, 'kill'>;
  readonly podStates: PodStates;
  readonly nodeServices: Pick<NodeServices, 'pressure'>;
  readonly events: EventSink;
  readonly activePods: Pick<ActivePods, 'list'>;
  readonly housekeeping: Pick<Housekeeping, 'deleteAllUnusedContainers' | 'containersRemovedAtMs'>;
  readonly podManager: PodManager;
  readonly statuses: ApiStatusCache;
  readonly cache: RuntimeStatusCache;
}

/** A sample of a large node takes a tenth of a second. A pass does not wait longer for a thread that hangs. */
const sampleDeadlineMs = 3000;

export function startEviction(start: EvictionStart): EvictionManager {
  const {
    clock,
    options,
    nodeName,
    threads,
    log,
    shutdown,
    podLifecycle,
    workers,
    podStates,
    events,
    activePods,
    housekeeping,
    podManager,
    statuses,
    cache,
  } = start;
  const { images } = start.runtime;
  const { pressure } = start.nodeServices;
  const usage = new UsageReader(threads.usage);
  const storage = new StorageReader(threads.storage);
  const sampleNode = async (filesystems: boolean) => {
    await Promise.all([threads.stats.sampleNow(), ...(filesystems ? [images.sampleFilesystems()] : [])]);
  };
  const manager = new EvictionManager({
    settings: liveEvictionSettings(options.live.view, options),
    readNode: () => readNodeStats(usage),
    readPods: (pods) => readPodStats(pods, { usage, storage }),
    sample: ({ filesystems }) => withTimeout(sampleDeadlineMs, sampleNode(filesystems), clock),
    activePods: () => activePods.list(),
    kill: (uid, killOptions) => workers.kill(uid, killOptions),
    isFinished: (uid) => podStates.isFinished(uid),
    reclaim: {
      deadContainers: () => housekeeping.deleteAllUnusedContainers(),
      unusedImages: async () => {
        const { failure } = await images.deleteUnusedImages(neededImages({ podManager, statuses, cache, clock }));
        if (failure) throw new Error(failure.message);
      },
    },
    containersRemovedAtMs: () => housekeeping.containersRemovedAtMs,
    pressure,
    nodeName,
    events,
    clock,
    logger: log('eviction-manager'),
  });
  podLifecycle.register({ name: 'eviction', finished: (uid) => manager.onPodFinished(uid) });
  threads.stats.listeners.memoryPressure.add(() => manager.check());
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  shutdown.register('eviction', () => {
    stop.abort();
    return running;
  });
  return manager;
}
