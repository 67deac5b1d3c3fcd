/**
 * Renders a pod's disk usage for /stats/summary: the fields volume and ephemeral-storage of the pod, rootfs and logs of its containers. Pure. Upstream:
 * makePodStorageStats and calcEphemeralStorage of pkg/kubelet/stats/helper.go, as the provider for CRI runtimes calls them.
 */
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';
import type { PodStorage, StorageUsage, VolumeUsage } from '../../../shared/state/storage-table.ts';
import type { CgroupUsage } from '../../../shared/state/usage-table.ts';
import { filesystemFields } from './filesystem-json.ts';

/** `volume` and `ephemeral-storage`, each if there is something to show. `root`: the filesystem of the root directory. */
export function podStorageFields(
  storage: PodStorage | undefined,
  containers: readonly CgroupUsage[],
  root: FilesystemUsage | undefined,
): string[] {
  // Local ephemeral volumes first, as upstream.
  const volumes = [...(storage?.volumes.values() ?? [])].sort(
    (a, b) => Number(isLocalEphemeral(b)) - Number(isLocalEphemeral(a)) || (a.name < b.name ? -1 : 1),
  );
  const fields: string[] = [];
  if (volumes.length > 0) fields.push(`"volume":[${volumes.map(volumeStats).join(',')}]`);
  if (root) fields.push(`"ephemeral-storage":{${filesystemFields(sumEphemeralStorage(storage, containers, root))}}`);
  return fields;
}

/** The fields rootfs and logs of a container. `container`: the filesystem of writable layers. */
export function containerStorageFields(
  { identity, values }: CgroupUsage,
  storage: PodStorage | undefined,
  { root, container }: { readonly root: FilesystemUsage | undefined; readonly container: FilesystemUsage | undefined },
): string[] {
  const fields: string[] = [];
  if (container) {
    const { readAtMs = values.sampledAtMs, usedBytes = NaN, inodesUsed = NaN } = layerOf(identity, storage) ?? {};
    fields.push(`"rootfs":{${filesystemFields({ ...container, readAtMs, usedBytes, inodesUsed })}}`);
  }
  if (root && !Number.isNaN(values.logBytes)) {
    const logs = { ...root, readAtMs: values.sampledAtMs, usedBytes: values.logBytes, inodesUsed: values.logInodes };
    fields.push(`"logs":{${filesystemFields(logs)}}`);
  }
  return fields;
}

/** Upstream: IsLocalEphemeralVolume. An emptyDir in memory is a mount. */
export function isLocalEphemeral({ plugin, isMountPoint }: Pick<VolumeUsage, 'plugin' | 'isMountPoint'>): boolean {
  return plugin === 'kubernetes.io~configmap' || (plugin === 'kubernetes.io~empty-dir' && !isMountPoint);
}

/** The sum of what is known. The times and sizes are those of the root directory's filesystem. */
export function sumEphemeralStorage(
  storage: PodStorage | undefined,
  containers: readonly CgroupUsage[],
  root: FilesystemUsage,
): FilesystemUsage {
  const parts: (Omit<StorageUsage, 'isLowerBound'> | undefined)[] = [
    ...containers.map(({ identity }) => layerOf(identity, storage)),
    ...containers.map(({ values }) => ({ readAtMs: values.sampledAtMs, usedBytes: values.logBytes, inodesUsed: values.logInodes })),
    ...[...(storage?.volumes.values() ?? [])].filter(isLocalEphemeral),
    storage?.podLogs,
    storage?.etcHosts,
  ];
  let sum: FilesystemUsage = { ...root, usedBytes: NaN, inodesUsed: NaN };
  for (const part of parts) {
    if (!part) continue;
    sum = {
      ...sum,
      readAtMs: Math.max(sum.readAtMs, part.readAtMs),
      usedBytes: add(sum.usedBytes, part.usedBytes),
      inodesUsed: add(sum.inodesUsed, part.inodesUsed),
    };
  }
  return sum;
}

/** The usage of this instance of the container: a new one has another writable layer. */
function layerOf({ containerName, containerID }: CgroupUsage['identity'], storage: PodStorage | undefined) {
  const layer = storage?.containers.get(containerName);
  return layer?.containerID === containerID ? layer : undefined;
}

function volumeStats(volume: VolumeUsage): string {
  return `{${filesystemFields(volume)},"name":${JSON.stringify(volume.name)}}`;
}

function add(sum: number, part: number): number {
  if (Number.isNaN(sum)) return part;
  return Number.isNaN(part) ? sum : sum + part;
}
