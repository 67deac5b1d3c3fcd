/**
 * A table of one row: the machine's CPUs, memory, identifiers and operating system, for statistics. In the buffer of the usage table. Written by the stats
 * thread.
 */
import { f64, boundedText, u32, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const machineFields = {
  numCores: u32,
  numPhysicalCores: u32,
  numSockets: u32,
  memoryBytes: f64,
  swapBytes: f64,
  /** The size of all huge pages, which no cgroup counts as used memory. 0 with the gate HugepageAwareEviction off. */
  hugePagesBytes: f64,
  machineID: boundedText(128),
  systemUUID: boundedText(128),
  bootID: boundedText(128),
  kernelVersion: boundedText(256),
  osImage: boundedText(256),
};
export type MachineFields = typeof machineFields;
export type MachineRow = Row<typeof machineFields>;

export const machineTable = defineTable('machine', machineFields);
