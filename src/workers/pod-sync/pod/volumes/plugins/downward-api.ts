/** Makes the files of downwardAPI volumes, and of projected volumes with such a source (upstream pkg/volume/downwardapi). */
import { normalize } from 'node:path';
import type { Volume } from '../../../../../shared/kubernetes/api.ts';
import { metadataField } from '../../runtime-config/downward-api-fields.ts';
import { fileResourceField } from '../../runtime-config/downward-api-resource-fields.ts';
import type { FileProjection, Payload } from '../atomic-writer.ts';
import { collectFiles } from '../check-payload.ts';
import type { VolumeContext } from '../volume-context.ts';

type Item = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/** The API server's default. */
export const defaultFileMode = 0o644;

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
