/** Creates the eviction manager on the tables of the stats and images threads, and starts its passes. */
import type { AllocatedPod } from '../allocation/index.ts';
import { StorageReader } from '../../shared/state/storage-table.ts';
import { UsageReader } from '../../shared/state/usage-table.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import type { EventSink } from '../events/index.ts';
import { EvictionManager, liveEvictionSettings, readNodeStats, readPodStats, type NodePressure } from '../eviction/index.ts';
import type { NeededImages } from '../../shared/contracts/images.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { RuntimeServices } from './runtime-services.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface EvictionStart extends Pick<
  KubeletContext,
  'clock' | 'options' | 'nodeName' | 'threads' | 'log' | 'shutdown' | 'podLifecycle'
> {
  readonly images: RuntimeServices['images'];
  readonly workers: Pick<PodWorkers, 'kill'>;
  readonly podStates: PodStates;
  readonly pressure: NodePressure;
  readonly events: EventSink;
  /** With their allocated resources. */
  readonly activePods: () => readonly AllocatedPod[];
  readonly deleteAllUnusedContainers: () => Promise<void>;
  readonly containersRemovedAtMs: () => number | null;
  readonly neededImages: () => NeededImages;
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
    images,
    workers,
    pressure,
    events,
    activePods,
    deleteAllUnusedContainers,
    containersRemovedAtMs,
  } = start;
  const usage = new UsageReader(threads.usage);
  const storage = new StorageReader(threads.storage);
  const sampleNode = async (filesystems: boolean) => {
    await Promise.all([threads.stats.sampleNow(), ...(filesystems ? [images.sampleFilesystems()] : [])]);
  };
  const manager = new EvictionManager({
    settings: liveEvictionSettings(options.live.view, options.flags),
    readNode: () => readNodeStats(usage),
    readPods: (pods) => readPodStats(pods, { usage, storage }),
    sample: ({ filesystems }) => withTimeout(sampleDeadlineMs, sampleNode(filesystems)),
    activePods,
    kill: (uid, killOptions) => workers.kill(uid, killOptions),
    isFinished: (uid) => start.podStates.isFinished(uid),
    reclaim: {
      deadContainers: deleteAllUnusedContainers,
      unusedImages: async () => {
        const { failure } = await images.deleteUnusedImages(start.neededImages());
        if (failure) throw new Error(failure.message);
      },
    },
    containersRemovedAtMs,
    pressure,
    nodeName,
    events,
    clock,
    logger: log('eviction-manager'),
  });
  start.podLifecycle.register({ name: 'eviction', finished: (uid) => manager.onPodFinished(uid) });
  threads.stats.setPressureReceiver(() => manager.check());
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  shutdown.register('eviction', () => {
    stop.abort();
    return running;
  });
  return manager;
}
