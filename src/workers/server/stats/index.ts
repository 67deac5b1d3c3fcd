/**
 * The pages about resource usage: /stats/summary, /metrics/resource and /metrics/cadvisor. Renders them from the usage table, which the stats thread writes;
 * no page waits for another thread. Created by the server thread; called by its routes.
 */
import { readFileSync } from 'node:fs';
import { parseBootTime } from '../../../shared/linux/procfs.ts';
import { UsageReader } from '../../../shared/state/usage-table.ts';
import { groupUsage } from './group-usage.ts';
import { renderResourcePage } from './resource-page.ts';
import { renderSummary } from './summary.ts';

export interface StatsPagesOptions {
  readonly nodeName: string;
  readonly usage: SharedArrayBuffer;
}

export interface StatsPages {
  /** Throws until the node was measured once, a few seconds after the start. */
  summary(onlyCpuAndMemory: boolean): string;
  resource(): string;
}

export function createStatsPages({ nodeName, usage }: StatsPagesOptions): StatsPages {
  const reader = new UsageReader(usage);
  const node = {
    nodeName,
    bootedAtMs: parseBootTime(readFileSync('/proc/stat', 'utf8')) * 1000,
    kubeletStartedAtMs: Date.now() - process.uptime() * 1000,
  };
  return {
    summary(onlyCpuAndMemory) {
      const grouped = groupUsage(reader.all());
      // Upstream's message, without its path through cadvisor.
      if (!grouped.root) throw new Error('failed to get root cgroup stats: failed to get container info for "/": unknown container "/"');
      return renderSummary(node, grouped, { onlyCpuAndMemory });
    },
    resource: () => renderResourcePage(groupUsage(reader.all())),
  };
}
