/** Renders FsStats and times of /stats/summary. Pure. */
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';

/** hugetlbfs reports 2^64−1 inodes, which means no limit. A JavaScript number rounds it to 2^64, which exceeds the 64-bit numbers of FsStats. */
const firstTooLarge = 2 ** 64;

export type UsedStorage = Pick<FilesystemUsage, 'readAtMs' | 'usedBytes' | 'inodesUsed'>;

/**
 * The fields of an FsStats, without braces. Values that are unknown or without a limit are left out.
 * @param used what the measured part of the filesystem uses
 */
export function filesystemFields(filesystem: Omit<FilesystemUsage, keyof UsedStorage>, used: UsedStorage): string {
  return (
    `"time":${timeJSON(used.readAtMs)}` +
    field('availableBytes', filesystem.availableBytes) +
    field('capacityBytes', filesystem.capacityBytes) +
    field('usedBytes', used.usedBytes) +
    field('inodesFree', filesystem.inodesFree) +
    field('inodes', filesystem.inodes) +
    field('inodesUsed', used.inodesUsed)
  );
}

function field(name: string, value: number): string {
  return value < firstTooLarge ? `,"${name}":${value}` : '';
}

/** RFC 3339 in whole seconds, as metav1.Time. */
export function timeJSON(ms: number): string {
  if (!(ms > 0)) return 'null';
  const second = Math.floor(ms / 1000);
  let text = times.get(second);
  if (text === undefined) {
    if (times.size >= maxTimes) times.clear();
    times.set(second, (text = `"${new Date(ms).toISOString().slice(0, 19)}Z"`));
  }
  return text;
}
/** A cache of rendered times, by second: containers' start times and the times of the last samples occur again and again. */
const times = new Map<number, string>();
const maxTimes = 4096;
