/** Creates the volume manager, which follows the pods that have volumes from outside. */
import { Listeners } from '../../shared/concurrency/listeners.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { VolumeManager, type VolumeManagerOptions } from '../volumes/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface VolumeManagerStart
  extends
    Pick<KubeletContext, 'clock' | 'podLifecycle'>,
    Pick<VolumeManagerOptions, 'objects' | 'thread' | 'getToken' | 'nodeLabels' | 'events' | 'claimedVolumes'> {}

export interface Volumes {
  readonly volumeManager: VolumeManager;
  /** Called with the pod for which a volume was published, or failed. */
  readonly volumeChanges: Listeners<[uid: PodUID]>;
}

export function createVolumeManager({
  clock,
  podLifecycle,
  objects,
  thread,
  getToken,
  nodeLabels,
  events,
  claimedVolumes,
}: VolumeManagerStart): Volumes {
  const volumeChanges = new Listeners<[uid: PodUID]>();
  const volumeManager = new VolumeManager({
    objects,
    thread,
    wake: (uid) => volumeChanges.notify(uid),
    getToken,
    nodeLabels,
    events,
    claimedVolumes,
    clock,
  });
  podLifecycle.register({
    name: 'volume-manager',
    terminated: (uid) => volumeManager.end(uid),
    finished: (uid) => volumeManager.forget(uid),
    forgotten: (uid) => volumeManager.forget(uid),
  });
  return { volumeManager, volumeChanges };
}
