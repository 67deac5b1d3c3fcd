/** One row: what statistics show of the machine. In the buffer of the usage table. Written by the stats thread. */
import { f64, text, u32, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const machineFields = {
  numCores: u32,
  numPhysicalCores: u32,
  numSockets: u32,
  memoryBytes: f64,
  swapBytes: f64,
  /** Of all huge pages, which no cgroup counts as used memory. 0 with the gate HugepageAwareEviction off. */
  hugePagesBytes: f64,
  machineID: text(128),
  systemUUID: text(128),
  bootID: text(128),
  kernelVersion: text(256),
  osImage: text(256),
};
export type MachineFields = typeof machineFields;
export type MachineFacts = Row<typeof machineFields>;

export const machineTable = defineTable('machine', machineFields);
