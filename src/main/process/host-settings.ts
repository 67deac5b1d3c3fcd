/** Host checks before the start, and the kubelet's own OOM score (upstream: container_manager_linux.go, pkg/util/oom). */
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { openFilesLimits, setOpenFilesLimits } from '../../shared/linux/native.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const cgroup2Magic = 0x63677270;

/** 2 when the unified hierarchy is mounted at `root`; 1 also on hybrid hosts, whose controllers are in v1. */
export function readCgroupVersion(root = '/sys/fs/cgroup'): 1 | 2 {
  try {
    return statfsSync(root).type === cgroup2Magic ? 2 : 1;
  } catch {
    return 1;
  }
}

/** The list of the CPUs that are online, or undefined when it is not known. */
export function onlineCPUs(file = '/sys/devices/system/cpu/online'): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Throws when swap is on: a pod could use more memory than its limit. */
export function checkSwap(table = '/proc/swaps'): void {
  const areas = swapAreas(table);
  if (areas.length === 0) return;
  const names = areas.map((line) => line.split(/\s/)[0]).join(', ');
  throw new Error(`running with swap on is not supported, please disable swap or set --fail-swap-on flag to false (swap on: ${names})`);
}

/** Returns one line per swap area in use. A kernel without swap has no such file. */
export function swapAreas(table = '/proc/swaps'): string[] {
  return existsSync(table) ? readFileSync(table, 'utf8').trim().split('\n').slice(1) : [];
}

/**
 * Sets both limits of open files, as upstream. Without the permission to raise the hard limit the soft one gets as near as possible, with a warning. 0 leaves
 * the limits, since with it no file could be opened.
 */
export function setMaxOpenFiles(max: number, logger: Logger): void {
  if (max === 0) return;
  try {
    const { soft, hard } = openFilesLimits();
    if (soft === max && hard === max) return;
    try {
      setOpenFilesLimits(max, max);
    } catch (err) {
      logger.warn({ err, maxOpenFiles: max, limit: Math.min(max, hard) }, 'Failed to set rlimit on max file handles');
      setOpenFilesLimits(Math.min(max, hard), hard);
    }
  } catch (err) {
    logger.warn({ err, maxOpenFiles: max }, 'Failed to set rlimit on max file handles');
  }
}

/** Logs a failure and continues: a lower score needs CAP_SYS_RESOURCE. */
export function setOOMScore(score: number, logger: Logger, file = '/proc/self/oom_score_adj'): void {
  try {
    writeFileSync(file, String(score));
  } catch (err) {
    logger.warn({ err, oomScoreAdj: score }, 'Could not set the OOM score of the kubelet');
  }
}
