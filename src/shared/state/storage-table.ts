/**
 * The disk usage of each pod: one row for each volume, each writable layer of a running container, the pod's own log folder, and its hosts file.
 * The stats thread writes the rows, the server thread renders them, eviction (main) reads them. The logs of containers are in the usage table.
 */
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import { DecodedRows } from './decoded-rows.ts';
import { f64, boundedText, u8, type Row } from './table-layout.ts';
import { defineTable, TableFullError, type TableReader, type TableWriter } from './typed-table.ts';

/** `pod-logs`: the files in the pod's log folder itself. `etc-hosts`: the hosts file that the kubelet writes for the pod. */
export const storageKinds = ['volume', 'container', 'pod-logs', 'etc-hosts'] as const;
export type StorageKind = (typeof storageKinds)[number];

const fields = {
  /** An index into `storageKinds`. */
  kind: u8,
  /** A static pod's manifest may set a UID that is longer than the API server's 36 characters. */
  podUID: boundedText<PodUID>(128),
  /** The name of the volume (for CSI, the name of its folder: the PersistentVolume's name) or of the container. Empty for the other kinds. */
  name: boundedText(253),
  /** The name of a volume's plugin folder: `kubernetes.io~empty-dir`. Empty for the other kinds. */
  plugin: boundedText(128),
  containerID: boundedText<ContainerID | ''>(128),
  /** 1: the volume's folder is a mount point, as that of a memory emptyDir. The values are then those of the mounted filesystem. */
  isMountPoint: u8,
  /** 1: the walk over the files has not ended yet, so at least this much is used. */
  isLowerBound: u8,
  /** Wall-clock ms. */
  readAtMs: f64,
  /** NaN in every field below: not known. */
  usedBytes: f64,
  inodesUsed: f64,
  /** The last four are those of a volume's filesystem, and unknown for other kinds. */
  capacityBytes: f64,
  availableBytes: f64,
  inodes: f64,
  inodesFree: f64,
};

type StorageRow = Row<typeof fields>;
export type StorageIdentity = Pick<StorageRow, 'podUID' | 'name' | 'plugin' | 'containerID'> & { readonly kind: StorageKind };
export type StorageUsage = Pick<StorageRow, 'readAtMs' | 'usedBytes' | 'inodesUsed'> & {
  /** The walk over the files has not ended yet: at least this much is used. */
  readonly isLowerBound: boolean;
};
export type WritableLayerUsage = StorageUsage & Pick<StorageRow, 'name' | 'containerID'>;
type FilesystemFields = Pick<StorageRow, 'capacityBytes' | 'availableBytes' | 'inodes' | 'inodesFree'>;
export type VolumeUsage = StorageUsage & Pick<StorageRow, 'name' | 'plugin'> & FilesystemFields & { readonly isMountPoint: boolean };
export type StorageValues = Omit<VolumeUsage, 'name' | 'plugin'>;

export interface PodStorage {
  readonly containers: ReadonlyMap<string, WritableLayerUsage>;
  readonly volumes: ReadonlyMap<string, VolumeUsage>;
  /** Both are undefined until they are measured. */
  readonly podLogs: StorageUsage | undefined;
  readonly etcHosts: StorageUsage | undefined;
}

const table = defineTable('storage', fields);

/** Each pod may have this many rows, regardless of the other pods. */
export const reservedRowsPerPod = 20;
/** Rows for pods with more than the reserved rows. Memory that was never written costs nothing. */
const sharedRows = 5000;
/** Rows are also reserved for this many terminating pods above the maximum number of pods. */
const extraPods = 20;

export function createStorageTable(maxPods: number): SharedArrayBuffer {
  return table.create((maxPods + extraPods) * reservedRowsPerPod + sharedRows);
}

/** The stats thread's view. Keeps the rows of a predecessor until `remove`. */
export class StorageWriter {
  readonly #table: TableWriter<typeof fields>;
  /** Row numbers by `keyOf`. */
  readonly #rows = new Map<string, number>();
  /** The number of rows of each pod. */
  readonly #rowCounts = new Map<PodUID, number>();
  #sharedInUse = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#table = table.writer(buffer);
    for (const [row, values] of this.#table.rows()) this.#count(toIdentity(values), row);
  }

  /** Throws TableFullError when the pod's reserved rows and all shared rows are in use, or RangeError for a text that is too long. */
  put(identity: StorageIdentity, values: StorageValues): void {
    // Copies field by field: a caller's object may have fields that the table lacks.
    const { readAtMs, usedBytes, inodesUsed, capacityBytes, availableBytes, inodes, inodesFree } = values;
    const numbers = { readAtMs, usedBytes, inodesUsed, capacityBytes, availableBytes, inodes, inodesFree };
    const { podUID, name, plugin, containerID } = identity;
    const kind = storageKinds.indexOf(identity.kind);
    const flags = { isMountPoint: values.isMountPoint ? 1 : 0, isLowerBound: values.isLowerBound ? 1 : 0 };
    const fieldsOfRow = { kind, podUID, name, plugin, containerID, ...flags, ...numbers };
    const row = this.#rows.get(keyOf(identity));
    if (row !== undefined) return this.#table.put(row, fieldsOfRow);
    if ((this.#rowCounts.get(identity.podUID) ?? 0) >= reservedRowsPerPod && this.#sharedInUse >= sharedRows) {
      throw new TableFullError('storage', this.#table.capacity);
    }
    this.#count(identity, this.#table.insert(fieldsOfRow));
  }

  /** Returns the identity of every row in use. */
  identities(): StorageIdentity[] {
    return Array.from(this.#table.rows(), ([, values]) => toIdentity(values));
  }

  /** Idempotent. */
  remove(identity: StorageIdentity): void {
    const row = this.#rows.get(keyOf(identity));
    if (row === undefined) return;
    this.#table.free(row);
    this.#rows.delete(keyOf(identity));
    const left = (this.#rowCounts.get(identity.podUID) ?? 1) - 1;
    if (left >= reservedRowsPerPod) this.#sharedInUse -= 1;
    if (left === 0) this.#rowCounts.delete(identity.podUID);
    else this.#rowCounts.set(identity.podUID, left);
  }

  #count(identity: StorageIdentity, row: number): void {
    this.#rows.set(keyOf(identity), row);
    const before = this.#rowCounts.get(identity.podUID) ?? 0;
    if (before >= reservedRowsPerPod) this.#sharedInUse += 1;
    this.#rowCounts.set(identity.podUID, before + 1);
  }
}

/** The view of all other threads. */
export class StorageReader {
  readonly #table: TableReader<typeof fields>;
  /** What `all` has decoded, by row: most rows stay the same for a minute. */
  readonly #entries: DecodedRows<typeof fields, StorageEntry>;

  constructor(buffer: SharedArrayBuffer) {
    this.#table = table.reader(buffer);
    this.#entries = new DecodedRows(this.#table, toEntry);
  }

  /** A pod without rows has empty maps. */
  pod(uid: PodUID): PodStorage {
    const wanted = Buffer.from(uid);
    const pod = new PodRows();
    const end = this.#table.highWater;
    for (let row = 0; row < end; row += 1) {
      // Compares without the version check: `read` checks, and its copy is compared again.
      if (!this.#table.textEquals(row, 'podUID', wanted, 0, wanted.length)) continue;
      const values = this.#table.read(row);
      if (values?.podUID === uid) pod.add(toEntry(values));
    }
    return pod;
  }

  /** The pods that have rows. Each row is consistent; different ones may be from different rounds. */
  all(): Map<PodUID, PodStorage> {
    const pods = new Map<PodUID, PodRows>();
    const end = this.#table.highWater;
    for (let row = 0; row < end; row += 1) {
      const entry = this.#entries.get(row)?.value;
      if (!entry) continue;
      let pod = pods.get(entry.podUID);
      if (!pod) pods.set(entry.podUID, (pod = new PodRows()));
      pod.add(entry);
    }
    return pods;
  }
}

type StorageEntry = { readonly podUID: PodUID } & (
  | { readonly kind: 'volume'; readonly usage: VolumeUsage }
  | { readonly kind: 'container'; readonly usage: WritableLayerUsage }
  | { readonly kind: 'pod-logs' | 'etc-hosts'; readonly usage: StorageUsage }
);

function toEntry(row: StorageRow): StorageEntry {
  const { podUID, name, plugin, containerID, readAtMs, usedBytes, inodesUsed, capacityBytes, availableBytes, inodes, inodesFree } = row;
  const isLowerBound = row.isLowerBound === 1;
  const kind = storageKinds[row.kind]!;
  switch (kind) {
    case 'volume': {
      const isMountPoint = row.isMountPoint === 1;
      const filesystem = { capacityBytes, availableBytes, inodes, inodesFree };
      return { podUID, kind, usage: { name, plugin, isMountPoint, isLowerBound, readAtMs, usedBytes, inodesUsed, ...filesystem } };
    }
    case 'container':
      return { podUID, kind, usage: { name, containerID, isLowerBound, readAtMs, usedBytes, inodesUsed } };
    case 'pod-logs':
    case 'etc-hosts':
      return { podUID, kind, usage: { isLowerBound, readAtMs, usedBytes, inodesUsed } };
  }
}

class PodRows implements PodStorage {
  readonly containers = new Map<string, WritableLayerUsage>();
  readonly volumes = new Map<string, VolumeUsage>();
  podLogs: StorageUsage | undefined;
  etcHosts: StorageUsage | undefined;

  add({ kind, usage }: StorageEntry): void {
    switch (kind) {
      case 'volume':
        this.volumes.set(usage.name, usage);
        return;
      case 'container':
        // Keeps the newest instance: an ended instance has a row until the next round of measurements.
        if (!((this.containers.get(usage.name)?.readAtMs ?? 0) > usage.readAtMs)) this.containers.set(usage.name, usage);
        return;
      case 'pod-logs':
        this.podLogs = usage;
        return;
      case 'etc-hosts':
        this.etcHosts = usage;
    }
  }
}

function keyOf({ kind, podUID, name, plugin, containerID }: StorageIdentity): string {
  // None of the parts contains a NUL, because all are names of files.
  return [kind, podUID, name, plugin, containerID].join('\0');
}

function toIdentity({ kind, podUID, name, plugin, containerID }: StorageRow): StorageIdentity {
  return { kind: storageKinds[kind]!, podUID, name, plugin, containerID };
}
