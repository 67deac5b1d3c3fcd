/**
 * Who drives the node's cgroups by the runtime's own word. Threads are born, and load, before the runtime has been asked: what depends on its
 * answer lies in this cell. Main writes it once, before it sends the first task.
 */
import type { CgroupDriver } from '../linux/cgroup-names.ts';

/** By the number in the cell; 0: the runtime has not said. */
const drivers: readonly (CgroupDriver | undefined)[] = [undefined, 'cgroupfs', 'systemd'];

export function createRuntimeCgroupDriver(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

export function setRuntimeCgroupDriver(cell: SharedArrayBuffer, driver: CgroupDriver | null): void {
  Atomics.store(new Int32Array(cell), 0, Math.max(0, drivers.indexOf(driver ?? undefined)));
}

/** Undefined: it has not said, and what is configured holds. */
export function runtimeCgroupDriver(cell: SharedArrayBuffer): CgroupDriver | undefined {
  return drivers[Atomics.load(new Int32Array(cell), 0)];
}
