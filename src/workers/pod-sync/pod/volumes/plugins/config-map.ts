/** configMap: the values of a ConfigMap as files, on the node's disk as upstream (pkg/volume/configmap). */
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import { kubeletWritten } from '../kubelet-written-volume.ts';
import { requestObjectPayload } from '../request-object-payload.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export const configMap: VolumePlugin<VolumeSource<'configMap'>> = kubeletWritten({
  kind: 'configMap',
  medium: '',
  makePayload: (context, volume, source) =>
    requestObjectPayload(context, { ...source, kind: 'ConfigMap', name: source.name ?? '', description: `configMap volume ${volume}` }),
});
