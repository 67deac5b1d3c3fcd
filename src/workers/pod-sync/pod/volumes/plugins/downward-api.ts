/** downwardAPI: fields of the pod as files (upstream pkg/volume/downwardapi). Projected volumes have such sources, too. */
import { normalize } from 'node:path';
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import { metadataField } from '../../runtime-config/downward-api-fields.ts';
import { fileResourceField } from '../../runtime-config/downward-api-resource-fields.ts';
import type { FileProjection, Payload } from '../atomic-writer.ts';
import { collectFiles } from '../check-payload.ts';
import { defaultFileMode } from '../file-mode.ts';
import { kubeletWritten } from '../kubelet-written-volume.ts';
import type { VolumeContext } from '../volume-context.ts';
import type { VolumePlugin } from './volume-plugin.ts';

type Item = NonNullable<VolumeSource<'downwardAPI'>['items']>[number];

export const downwardAPI: VolumePlugin<VolumeSource<'downwardAPI'>> = kubeletWritten({
  kind: 'downwardAPI',
  medium: 'Memory',
  makePayload: async (context, _, source) => makeDownwardAPIPayload(context, source.items ?? [], source),
});

/** Throws an Error that names the invalid field. */
export function makeDownwardAPIPayload(
  { pod, node, resolveFileUser, maxBytes }: Pick<VolumeContext, 'pod' | 'node' | 'resolveFileUser' | 'maxBytes'>,
  items: readonly Item[],
  { defaultMode = defaultFileMode, defaultUser }: { readonly defaultMode?: number; readonly defaultUser?: number },
): Payload {
  function* files(): Generator<[string, FileProjection]> {
    for (const { path, mode = defaultMode, user, fieldRef, resourceFieldRef } of items) {
      const content = fieldRef
        ? metadataField(pod, fieldRef.fieldPath)
        : resourceFieldRef
          ? fileResourceField(resourceFieldRef, pod, node.allocatable)
          : '';
      yield [normalize(path), { content, mode, user: resolveFileUser(user, defaultUser) }];
    }
  }
  return collectFiles(files(), maxBytes);
}
