/**
 * The usage of the node's filesystems, one row each: the root directory's (written by the stats thread), and those of images and of containers (written by the
 * images thread, which calls the runtime). In the buffer of the usage table. The server thread renders them; eviction (main) reads them.
 */
import { f64, type Row } from './table-layout.ts';
import { defineTable, type TableWriter } from './typed-table.ts';

const fields = {
  /** Wall-clock ms. */
  readAtMs: f64,
  /** Rows with equal numbers are of the same filesystem. NaN here and in every field below: not known. */
  device: f64,
  capacityBytes: f64,
  /** Free bytes that users without privileges can have. */
  availableBytes: f64,
  usedBytes: f64,
  inodes: f64,
  inodesFree: f64,
  inodesUsed: f64,
};
export type FilesystemRow = Row<typeof fields>;
export type FilesystemUsage = Omit<FilesystemRow, 'device'>;

export const filesystemTable = defineTable('filesystems', fields);
export type FilesystemWriter = TableWriter<typeof fields>;
/** The row of each filesystem. Without split disks images and containers have equal rows. */
export const filesystemRows = { root: 0, image: 1, container: 2 } as const;
