/** Derives the eviction signals from the usage of the node. Pure. Upstream: makeSignalObservations in pkg/kubelet/eviction/helpers.go. */
import type { EvictionSignal } from '../../shared/contracts/eviction.ts';

/** What is not known is absent. Times are wall-clock ms of the measurement. */
export interface NodeStats {
  readonly memory?: MemoryStats;
  /** The cgroup of all pods, if it has a limit. */
  readonly allocatableMemory?: MemoryStats;
  /** The filesystem of the kubelet's root directory. */
  readonly nodefs?: FilesystemStats;
  readonly imagefs?: FilesystemStats;
  readonly containerfs?: FilesystemStats;
  readonly processes?: { readonly running: number; readonly max: number; readonly atMs: number };
}

export interface MemoryStats {
  readonly availableBytes: number;
  readonly workingSetBytes: number;
  readonly atMs: number;
}

export interface FilesystemStats {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly atMs: number;
}

/** Amounts are bytes, inodes or process IDs, as the signal counts them. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
  readonly atMs: number;
}
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

export function observe({ memory, allocatableMemory, nodefs, imagefs, containerfs, processes }: NodeStats): Observations {
  const observations = new Map<EvictionSignal, Observation>();
  const add = (signal: EvictionSignal, available: number | undefined, capacity: number | undefined, atMs: number) => {
    if (available !== undefined && capacity !== undefined) observations.set(signal, { available, capacity, atMs });
  };
  const addMemory = (signal: EvictionSignal, stats: MemoryStats | undefined) => {
    if (stats) add(signal, stats.availableBytes, stats.availableBytes + stats.workingSetBytes, stats.atMs);
  };
  addMemory('memory.available', memory);
  addMemory('allocatableMemory.available', allocatableMemory);
  for (const [name, stats] of [
    ['nodefs', nodefs],
    ['imagefs', imagefs],
    ['containerfs', containerfs],
  ] as const) {
    if (!stats) continue;
    add(`${name}.available`, stats.availableBytes, stats.capacityBytes, stats.atMs);
    add(`${name}.inodesFree`, stats.inodesFree, stats.inodes, stats.atMs);
  }
  if (processes) add('pid.available', processes.max - processes.running, processes.max, processes.atMs);
  return observations;
}
