/** Makes the files of downwardAPI volumes, and of projected volumes with such a source (upstream pkg/volume/downwardapi). */
import { normalize } from 'node:path';
import type { NodeResources } from '../../../shared/contracts/node-info.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import { metadataField } from '../runtime-config/downward-api-fields.ts';
import { fileResourceField } from '../runtime-config/downward-api-resource-fields.ts';
import type { FileProjection, Payload } from './atomic-writer.ts';

type Item = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/** The API server's default. */
export const defaultFileMode = 0o644;

/** Throws an Error that names the invalid field. */
export function makeDownwardAPIPayload(
  items: readonly Item[],
  pod: Pod,
  node: NodeResources,
  defaultMode: number = defaultFileMode,
): Payload {
  return new Map(
    items.map(({ path, mode = defaultMode, fieldRef, resourceFieldRef }): [string, FileProjection] => {
      const content = fieldRef
        ? metadataField(pod, fieldRef.fieldPath)
        : resourceFieldRef
          ? fileResourceField(resourceFieldRef, pod, node)
          : '';
      return [normalize(path), { content, mode }];
    }),
  );
}
