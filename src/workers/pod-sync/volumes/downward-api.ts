/** Volumes whose files tell the pod of itself: downwardAPI, and projected ones of the same source (upstream pkg/volume/downwardapi). */
import { mkdir } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { NodeResources } from '../../../shared/contracts/node-facts.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import { podVolumeDir } from '../../../shared/kubernetes/paths.ts';
import { metadataField } from '../runtime-config/fields.ts';
import { fileResourceField } from '../runtime-config/resource-fields.ts';
import { type FileProjection, type Payload, writeAtomically } from './atomic-writer.ts';
import type { VolumeContext } from './context.ts';
import { setGroup, setUpEmptyDirAt } from './empty-dir.ts';
import { nestedMountpoints } from './nested-mountpoints.ts';
import { pluginNames } from './volume-kind.ts';

type Item = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/** The API server's default. */
const defaultFileMode = 0o644;

/** The files' content now. Throws an Error that names the field. */
function downwardAPIPayload(items: readonly Item[], pod: Pod, node: NodeResources, defaultMode: number = defaultFileMode): Payload {
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

/** Run again, it brings the files up to date. */
export async function setUpDownwardAPI(context: VolumeContext, volume: string, source: NonNullable<Volume['downwardAPI']>): Promise<void> {
  const payload = downwardAPIPayload(source.items ?? [], context.pod, context.node.allocatable, source.defaultMode);
  await setUpFiles(context, pluginNames.downwardAPI, volume, payload);
}

/** Of several sources for one path the last counts. */
export async function setUpProjected(context: VolumeContext, volume: string, source: NonNullable<Volume['projected']>): Promise<void> {
  const items = (source.sources ?? []).flatMap(({ downwardAPI }) => downwardAPI?.items ?? []);
  await setUpFiles(
    context,
    pluginNames.projected,
    volume,
    downwardAPIPayload(items, context.pod, context.node.allocatable, source.defaultMode),
  );
}

async function setUpFiles(context: VolumeContext, plugin: string, volume: string, payload: Payload): Promise<void> {
  const path = podVolumeDir(context.rootDir, context.pod.metadata.uid, plugin, volume);
  await setUpEmptyDirAt(context, { path, readyName: `wrapped_${volume}`, medium: 'Memory', setGroup: false });
  for (const folder of nestedMountpoints(context.pod, volume)) await mkdir(join(path, folder), { recursive: true, mode: 0o755 });
  await writeAtomically(path, payload, () => setGroup(context, path, true));
}
