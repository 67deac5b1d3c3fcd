/** Starts the part that asks CSI drivers about health, if its feature gate is on. */
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { VolumeHealthManager, type VolumeHealthManagerOptions } from '../volumes/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface VolumeHealthStart
  extends Pick<KubeletContext, 'clock' | 'options' | 'log'>, Pick<VolumeHealthManagerOptions, 'thread' | 'volumes' | 'csiNode'> {
  readonly podManager: Pick<PodManager, 'get'>;
  readonly statuses: Pick<ApiStatusCache, 'setVolumeHealth'>;
}

/** Upstream's default: a `volumeStatsAggPeriod` of 0 only ends the measurements of volumes. */
const defaultPeriodMs = 60_000;

export function startVolumeHealth(start: VolumeHealthStart): VolumeHealthManager | undefined {
  const { clock, options, log, thread, volumes, csiNode, podManager, statuses } = start;
  if (!options.featureGates.enabled('CSIVolumeHealth')) return undefined;
  const { volumeStatsAggPeriod } = options.config;
  const manager = new VolumeHealthManager({
    thread,
    volumes,
    setPodHealth: (uid, volumeName, conditions) => {
      const pod = podManager.get(uid);
      if (pod) statuses.setVolumeHealth(pod, volumeName, conditions);
    },
    csiNode,
    periodMs: volumeStatsAggPeriod > 0 ? volumeStatsAggPeriod : defaultPeriodMs,
    clock,
    logger: log('volumes'),
  });
  manager.start();
  return manager;
}
