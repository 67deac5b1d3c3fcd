/** What the kubelet asks of the host before it starts, and sets for itself (upstream: container_manager_linux.go, pkg/util/oom). */
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import type { Logger } from '../../shared/log/logger.ts';

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const cgroup2Magic = 0x63677270;

/** 2 where the unified hierarchy stands at `root`; 1 also on hybrid hosts, whose controllers are in v1. */
export function cgroupVersion(root = '/sys/fs/cgroup'): 1 | 2 {
  try {
    return statfsSync(root).type === cgroup2Magic ? 2 : 1;
  } catch {
    return 1;
  }
}

/** Throws when the host swaps: memory limits of pods would not mean what they say. */
export function checkSwap(table = '/proc/swaps'): void {
  const areas = swapAreas(table);
  if (areas.length === 0) return;
  const names = areas.map((line) => line.split(/\s/)[0]).join(', ');
  throw new Error(`running with swap on is not supported, please disable swap or set --fail-swap-on flag to false (swap on: ${names})`);
}

/** Lines of the table, one for each area that is in use. A kernel without swap has no such file. */
export function swapAreas(table = '/proc/swaps'): string[] {
  return existsSync(table) ? readFileSync(table, 'utf8').trim().split('\n').slice(1) : [];
}

/** Where that is not allowed (it takes CAP_SYS_RESOURCE to go below what one has) the kubelet says so and runs on. */
export function setOOMScore(score: number, logger: Logger, file = '/proc/self/oom_score_adj'): void {
  try {
    writeFileSync(file, String(score));
  } catch (err) {
    logger.warn({ err, oomScoreAdj: score }, 'Could not set the OOM score of the kubelet');
  }
}
