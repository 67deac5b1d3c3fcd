/** Creates the volume manager, which follows the pods that have volumes from outside. */
import { Listeners } from '../../shared/concurrency/listeners.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { Attachments, VolumeManager, type AttachmentsOptions, type VolumeManagerOptions, type VolumesRejection } from '../volumes/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface VolumeManagerStart
  extends
    Pick<KubeletContext, 'clock' | 'podLifecycle'>,
    Pick<VolumeManagerOptions, 'objects' | 'thread' | 'getToken' | 'nodeLabels' | 'events' | 'claimedVolumes'> {
  /** Undefined when standalone. */
  readonly attachments: Omit<AttachmentsOptions, 'wake' | 'clock'> | undefined;
}

export interface Volumes {
  readonly volumeManager: VolumeManager;
  /** Called with the pod for which a volume was published, or failed. */
  readonly volumeChanges: Listeners<[uid: PodUID]>;
  /** Called with a pod for whose volumes the node has no room. */
  readonly volumeRejections: Listeners<[pod: Pod, rejection: VolumesRejection]>;
  readonly attachments: Attachments | undefined;
}

export function createVolumeManager(start: VolumeManagerStart): Volumes {
  const { clock, podLifecycle, objects, thread, attachments: settings, getToken, nodeLabels, events, claimedVolumes } = start;
  const volumeChanges = new Listeners<[uid: PodUID]>();
  const wake = (uid: PodUID) => volumeChanges.notify(uid);
  const attachments = settings && new Attachments({ ...settings, wake, clock });
  const volumeRejections = new Listeners<[pod: Pod, rejection: VolumesRejection]>();
  const reject = (pod: Pod, rejection: VolumesRejection) => volumeRejections.notify(pod, rejection);
  const sources = { objects, getToken, nodeLabels };
  const volumeManager = new VolumeManager({ ...sources, thread, attachments, wake, reject, events, claimedVolumes, clock });
  podLifecycle.register({
    name: 'volume-manager',
    terminated: (uid) => volumeManager.end(uid),
    finished: (uid) => volumeManager.forget(uid),
    forgotten: (uid) => volumeManager.forget(uid),
  });
  return { volumeManager, volumeChanges, volumeRejections, attachments };
}
