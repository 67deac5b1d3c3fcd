/**
 * The mounted filesystems of the node's devices with the I/O of their devices: what /metrics/cadvisor shows for the root cgroup. In the buffer of the usage
 * table. Written by the stats thread.
 */
import { f64, boundedText, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const fields = {
  /** `/dev/sda1`; the mount point of a tmpfs. */
  device: boundedText(256),
  /** The number that stat(2) returns for files of this filesystem. */
  deviceNumber: f64,
  capacityBytes: f64,
  usedBytes: f64,
  inodes: f64,
  inodesFree: f64,
  /** This field and all below are of the device, from /proc/diskstats: counts and times since boot, except the operations in progress. */
  reads: f64,
  readsMerged: f64,
  sectorsRead: f64,
  readMs: f64,
  writes: f64,
  writesMerged: f64,
  sectorsWritten: f64,
  writeMs: f64,
  ioInProgress: f64,
  ioMs: f64,
  weightedIoMs: f64,
};
export type NodeFilesystem = Row<typeof fields>;
export type DiskIo = Omit<NodeFilesystem, 'device' | 'deviceNumber' | 'capacityBytes' | 'usedBytes' | 'inodes' | 'inodesFree'>;
/** The I/O of a filesystem without a device. */
export const noIo: DiskIo = {
  reads: 0,
  readsMerged: 0,
  sectorsRead: 0,
  readMs: 0,
  writes: 0,
  writesMerged: 0,
  sectorsWritten: 0,
  writeMs: 0,
  ioInProgress: 0,
  ioMs: 0,
  weightedIoMs: 0,
};

export const nodeFilesystemTable = defineTable('node-filesystems', fields);
/** Further filesystems are not shown. */
export const maxNodeFilesystems = 64;
