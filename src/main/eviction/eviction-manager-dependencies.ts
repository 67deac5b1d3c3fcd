/** What the eviction manager reads, and how it acts. */
import type { NodeReclaim } from '../../shared/contracts/eviction.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from '../events/index.ts';
import type { KillPodOptions } from '../pods/workers/index.ts';
import type { NodePressure } from './node-pressure.ts';
import type { PodStatsReader } from './pod-stats.ts';
import type { NodeReading } from './read-node-stats.ts';
import type { EvictionSettings } from './settings.ts';

export interface EvictionManagerDependencies {
  /** The same object until the configuration changes. */
  readonly settings: () => EvictionSettings;
  readonly readNode: () => NodeReading;
  readonly readPods: (pods: readonly AllocatedPod[]) => PodStatsReader;
  /** Measures the node now; with `filesystems` also those of the runtime. Must settle soon; a failure leaves older values. */
  readonly sample: (what: { readonly filesystems: boolean }) => Promise<void>;
  /** The pods that use the node's resources, with their allocated resources. */
  readonly activePods: () => readonly AllocatedPod[];
  readonly kill: (uid: PodUID, options: KillPodOptions) => Promise<void>;
  /** Whether nothing is left of the pod on this node. */
  readonly isFinished: (uid: PodUID) => boolean;
  /** Must settle. */
  readonly reclaim: Readonly<Record<NodeReclaim, () => Promise<void>>>;
  /** When containers were last removed; monotonic. Null when never. */
  readonly containersRemovedAtMs: () => number | null;
  readonly pressure: NodePressure;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}
