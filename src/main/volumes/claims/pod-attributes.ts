/** The attributes of a pod that a driver with `podInfoOnMount` gets (upstream pkg/volume/csi getPodInfoAttrs). Pure. */
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { CsiDriverObject } from '../volume-objects.ts';

export function podAttributes(
  { metadata, spec }: Pod,
  driver: CsiDriverObject | null,
  lifecycle: PublishVolumeRequest['lifecycle'],
): Readonly<Record<string, string>> {
  if (driver?.spec?.podInfoOnMount !== true) return {};
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(lifecycle === 'Ephemeral'),
  };
}
