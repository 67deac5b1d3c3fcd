/**
 * The cgroup driver that the runtime reports, in a cell of shared memory: threads start before main has asked the runtime. Main writes the cell once, before
 * it sends the first task.
 */
import type { CgroupDriver } from './cgroup-names.ts';

/** By the number in the cell. 0: not reported. */
const drivers: readonly (CgroupDriver | undefined)[] = [undefined, 'cgroupfs', 'systemd'];

export function createRuntimeCgroupDriver(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

export function setRuntimeCgroupDriver(cell: SharedArrayBuffer, driver: CgroupDriver | null): void {
  Atomics.store(new Int32Array(cell), 0, Math.max(0, drivers.indexOf(driver ?? undefined)));
}

/** Undefined: not reported. The configured driver is used then. */
export function runtimeCgroupDriver(cell: SharedArrayBuffer): CgroupDriver | undefined {
  return drivers[Atomics.load(new Int32Array(cell), 0)];
}
