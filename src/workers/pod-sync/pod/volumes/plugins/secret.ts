/** secret: the values of a Secret as files, in memory (upstream pkg/volume/secret). */
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import { kubeletWritten } from '../kubelet-written-volume.ts';
import { requestObjectPayload } from '../request-object-payload.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export const secret: VolumePlugin<VolumeSource<'secret'>> = kubeletWritten({
  kind: 'secret',
  medium: 'Memory',
  makePayload: (context, volume, source) =>
    requestObjectPayload(context, { ...source, kind: 'Secret', name: source.secretName ?? '', description: `secret volume ${volume}` }),
});
