/** Host checks before the start, and the kubelet's own OOM score (upstream: container_manager_linux.go, pkg/util/oom). */
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import type { Logger } from '../../shared/log/logger.ts';

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const cgroup2Magic = 0x63677270;

/** 2 when the unified hierarchy is mounted at `root`; 1 also on hybrid hosts, whose controllers are in v1. */
export function cgroupVersion(root = '/sys/fs/cgroup'): 1 | 2 {
  try {
    return statfsSync(root).type === cgroup2Magic ? 2 : 1;
  } catch {
    return 1;
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

/** Logs a failure and continues: a lower score needs CAP_SYS_RESOURCE. */
export function setOOMScore(score: number, logger: Logger, file = '/proc/self/oom_score_adj'): void {
  try {
    writeFileSync(file, String(score));
  } catch (err) {
    logger.warn({ err, oomScoreAdj: score }, 'Could not set the OOM score of the kubelet');
  }
}
