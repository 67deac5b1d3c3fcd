/**
 * Renders a pod's disk usage for /stats/summary: the fields volume and ephemeral-storage of the pod, rootfs and logs of its containers. Pure. Upstream:
 * makePodStorageStats and calcEphemeralStorage of pkg/kubelet/stats/helper.go, as the provider for CRI runtimes calls them.
 */
import { volumeKindsByFolder } from '../../../shared/kubernetes/volume-kind.ts';
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';
import type { ClaimedVolumeRow } from '../../../shared/state/claimed-volumes-table.ts';
import type { PodStorage, VolumeUsage } from '../../../shared/state/storage-table.ts';
import type { CgroupUsage } from '../../../shared/state/usage-table.ts';
import { filesystemFields, type UsedStorage } from './filesystem-json.ts';

/** `volume` and `ephemeral-storage`, each if there is something to show. `root`: the filesystem of the root directory. */
export function podStorageFields(
  storage: PodStorage | undefined,
  containers: readonly CgroupUsage[],
  root: FilesystemUsage | undefined,
  claimedVolumes: readonly ClaimedVolumeRow[] = [],
): string[] {
  // Local ephemeral volumes first, as upstream.
  const volumes = [...(storage?.volumes.values() ?? [])].sort(
    (a, b) => Number(isLocalEphemeral(b)) - Number(isLocalEphemeral(a)) || (a.name < b.name ? -1 : 1),
  );
  const fields: string[] = [];
  if (volumes.length > 0) fields.push(`"volume":[${volumes.flatMap((volume) => volumeStats(volume, claimedVolumes)).join(',')}]`);
  if (root) fields.push(`"ephemeral-storage":{${filesystemFields(root, sumEphemeralStorage(storage, containers, root))}}`);
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
    const used = layerOf(identity, storage) ?? { readAtMs: values.sampledAtMs, usedBytes: NaN, inodesUsed: NaN };
    fields.push(`"rootfs":{${filesystemFields(container, used)}}`);
  }
  if (root && !Number.isNaN(values.logBytes)) fields.push(`"logs":{${filesystemFields(root, logsOf(values))}}`);
  return fields;
}

/** Upstream: IsLocalEphemeralVolume. */
export function isLocalEphemeral({ plugin, isMountPoint }: Pick<VolumeUsage, 'plugin' | 'isMountPoint'>): boolean {
  const ephemeral = volumeKindsByFolder.get(plugin)?.ephemeral;
  return ephemeral === 'always' || (ephemeral === 'onDisk' && !isMountPoint);
}

/** Sums the known parts. The time is that of the newest part, and at least the time of the root directory's filesystem. */
export function sumEphemeralStorage(
  storage: PodStorage | undefined,
  containers: readonly CgroupUsage[],
  root: Pick<FilesystemUsage, 'readAtMs'>,
): UsedStorage {
  const sum = { readAtMs: root.readAtMs, usedBytes: NaN, inodesUsed: NaN };
  const include = (part: UsedStorage | undefined) => {
    if (!part) return;
    sum.readAtMs = Math.max(sum.readAtMs, part.readAtMs);
    sum.usedBytes = add(sum.usedBytes, part.usedBytes);
    sum.inodesUsed = add(sum.inodesUsed, part.inodesUsed);
  };
  for (const { identity, values } of containers) {
    include(layerOf(identity, storage));
    include(logsOf(values));
  }
  if (!storage) return sum;
  for (const volume of storage.volumes.values()) if (isLocalEphemeral(volume)) include(volume);
  include(storage.podLogs);
  include(storage.etcHosts);
  return sum;
}

function logsOf({ sampledAtMs, logBytes, logInodes }: CgroupUsage['values']): UsedStorage {
  return { readAtMs: sampledAtMs, usedBytes: logBytes, inodesUsed: logInodes };
}

/** The usage of this instance of the container. A new instance has another writable layer. */
function layerOf({ containerName, containerID }: CgroupUsage['identity'], storage: PodStorage | undefined) {
  const layer = storage?.containers.get(containerName);
  return layer?.containerID === containerID ? layer : undefined;
}

/** Returns one entry for each volume of the pod: two volumes may use one claim. */
function volumeStats(usage: VolumeUsage, claimedVolumes: readonly ClaimedVolumeRow[]): string[] {
  const fields = filesystemFields(usage, usage);
  const claimsOfVolume = claimedVolumes.filter(({ plugin, folder }) => plugin === usage.plugin && folder === usage.name);
  if (claimsOfVolume.length === 0) return [`{${fields},"name":${JSON.stringify(usage.name)}}`];
  return claimsOfVolume.map(
    ({ volume, claim, namespace }) =>
      `{${fields},"name":${JSON.stringify(volume)},"pvcRef":{"name":${JSON.stringify(claim)},"namespace":${JSON.stringify(namespace)}}}`,
  );
}

function add(sum: number, part: number): number {
  if (Number.isNaN(sum)) return part;
  return Number.isNaN(part) ? sum : sum + part;
}
