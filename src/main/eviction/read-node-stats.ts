/** Reads the usage of the node from the tables of the stats and images threads. */
import type { FilesystemRow } from '../../shared/state/filesystem-table.ts';
import type { UsageReader } from '../../shared/state/usage-table.ts';
import type { FilesystemStats, MemoryStats, NodeStats } from './observe.ts';
import type { FilesystemLayout } from './thresholds.ts';

export interface NodeReading {
  readonly stats: NodeStats;
  /** Null: the filesystem of images was not measured yet. */
  readonly layout: FilesystemLayout | null;
}

export function readNodeStats(usage: Pick<UsageReader, 'select' | 'filesystem' | 'tasks' | 'machine'>): NodeReading {
  const cgroups = usage.select(({ kind }) => kind === 'root' || kind === 'pods');
  const memoryOf = (wanted: 'root' | 'pods') => {
    const values = cgroups.find(({ identity }) => identity.kind === wanted)?.values;
    return values && memoryStats(values);
  };
  const [root, image, container] = [usage.filesystem('root'), usage.filesystem('image'), usage.filesystem('container')];
  const layout = root && image && container ? filesystemLayout(root, image, container) : null;
  const tasks = usage.tasks();
  const stats: { [K in keyof NodeStats]: NodeStats[K] | undefined } = {
    memory: withoutHugePages(memoryOf('root'), usage.machine()?.hugePagesBytes ?? 0),
    allocatableMemory: memoryOf('pods'),
    // Until the layout is known, nobody knows which pods use which filesystem: the signals of filesystems stay absent.
    ...(layout && { nodefs: filesystemStats(root), imagefs: filesystemStats(image), containerfs: filesystemStats(container) }),
    ...(tasks &&
      Number.isFinite(tasks.running + tasks.max) && { processes: { running: tasks.running, max: tasks.max, atMs: tasks.readAtMs } }),
  };
  return { stats: Object.fromEntries(Object.entries(stats).filter(([, value]) => value !== undefined)), layout };
}

function memoryStats(values: {
  readonly memoryLimitBytes: number;
  readonly memoryWorkingSetBytes: number;
  readonly sampledAtMs: number;
}): MemoryStats | undefined {
  const { memoryLimitBytes, memoryWorkingSetBytes, sampledAtMs } = values;
  // A limit above 2^62 is none (upstream's isMemoryUnlimited). The limit is 0 when its file could not be read, as in a new cgroup without the controller.
  if (!Number.isFinite(memoryWorkingSetBytes) || memoryLimitBytes === 0 || !(memoryLimitBytes <= 2 ** 62)) return undefined;
  return { availableBytes: memoryLimitBytes - memoryWorkingSetBytes, workingSetBytes: memoryWorkingSetBytes, atMs: sampledAtMs };
}

/** The limit of the root cgroup is all memory, and its working set has no huge pages (upstream adjustForHugePages in pkg/kubelet/server/stats/summary.go). */
function withoutHugePages(memory: MemoryStats | undefined, hugePagesBytes: number): MemoryStats | undefined {
  return memory && { ...memory, availableBytes: Math.max(0, memory.availableBytes - hugePagesBytes) };
}

/**
 * Compares the devices of the filesystems. The kubelet may not see the filesystem of images, as when the runtime has mounts of its own: the device is
 * NaN, and counts as another one than the root directory's.
 */
function filesystemLayout(root: FilesystemRow, image: FilesystemRow, container: FilesystemRow): FilesystemLayout {
  const splitContainerFs = !isSame(image, container);
  return { dedicatedImageFs: !isSame(image, root) || splitContainerFs, splitContainerFs };
}

function isSame(a: FilesystemRow, b: FilesystemRow): boolean {
  return Object.is(a.device, b.device);
}

function filesystemStats(usage: FilesystemRow | undefined): FilesystemStats | undefined {
  if (!usage) return undefined;
  const { availableBytes, capacityBytes, inodesFree, inodes, readAtMs } = usage;
  // A filesystem without a fixed number of inodes, as btrfs, reports none.
  const countsInodes = inodes > 0;
  return {
    ...(Number.isFinite(availableBytes + capacityBytes) && { availableBytes, capacityBytes }),
    ...(countsInodes && { inodesFree, inodes }),
    atMs: readAtMs,
  };
}
