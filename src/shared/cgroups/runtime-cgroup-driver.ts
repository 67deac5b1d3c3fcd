/**
 * The cgroup driver that the runtime reports, in a cell of shared memory: threads start before main has asked the runtime. Main writes the cell once, before
 * it sends the first task.
 */
import type { CgroupDriver } from './cgroup-names.ts';

/** The driver for each number in the cell. 0: the runtime has not reported a driver. */
const drivers: readonly (CgroupDriver | undefined)[] = [undefined, 'cgroupfs', 'systemd'];

export function createRuntimeCgroupDriver(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

export function setRuntimeCgroupDriver(cell: SharedArrayBuffer, driver: CgroupDriver | null): void {
  Atomics.store(new Int32Array(cell), 0, Math.max(0, drivers.indexOf(driver ?? undefined)));
}

/** Undefined when the runtime has not reported a driver: the caller then uses the configured one. */
export function runtimeCgroupDriver(cell: SharedArrayBuffer): CgroupDriver | undefined {
  return drivers[Atomics.load(new Int32Array(cell), 0)];
}
