/**
 * The pages about resource usage: /stats/summary, /metrics/resource, /metrics/cadvisor and a part of /metrics. Renders them from the usage table, which the stats thread writes;
 * no page waits for another thread. Created by the server thread; called by its routes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseBootTime } from '../../../shared/linux/procfs.ts';
import { StorageReader } from '../../../shared/state/storage-table.ts';
import { UsageReader } from '../../../shared/state/usage-table.ts';
import { renderCadvisorPage, renderMachineMetrics } from './cadvisor-page.ts';
import { createDeviceNames } from './device-names.ts';
import { groupUsage } from './group-usage.ts';
import { renderLogMetrics } from './log-metrics.ts';
import { readRlimit } from '../../../shared/linux/read-rlimit.ts';
import { renderResourcePage } from './resource-page.ts';
import { renderSummary } from './summary.ts';

export interface StatsPagesOptions {
  readonly nodeName: string;
  readonly usage: SharedArrayBuffer;
  readonly storage: SharedArrayBuffer;
  /** `/sys/fs/cgroup` */
  readonly cgroupFsRoot: string;
}

export interface StatsPages {
  /** Throws until the node was measured once, a few seconds after the start. */
  summary(onlyCpuAndMemory: boolean): string;
  resource(): string;
  /** A part of the page /metrics. */
  logs(): string;
  /** @param ofRuntime the runtime's metrics of containers, which replace those of the cgroups */
  cadvisor(ofRuntime: string | undefined): string | Iterable<string>;
}

export function createStatsPages({ nodeName, usage, storage, cgroupFsRoot }: StatsPagesOptions): StatsPages {
  const reader = new UsageReader(usage);
  const storageReader = new StorageReader(storage);
  const node = {
    nodeName,
    bootedAtMs: parseBootTime(readFileSync('/proc/stat', 'utf8')) * 1000,
    kubeletStartedAtMs: Date.now() - process.uptime() * 1000,
  };
  // Upstream: IsPsiEnabled of pkg/kubelet/cadvisor. Without cgroup v2 there is no such file.
  const hasPressure = existsSync(join(cgroupFsRoot, 'cpu.pressure'));
  const deviceName = createDeviceNames();
  return {
    summary(onlyCpuAndMemory) {
      const grouped = groupUsage(reader.all());
      // Upstream's message, without its path through cadvisor.
      if (!grouped.root) throw new Error('failed to get root cgroup stats: failed to get container info for "/": unknown container "/"');
      const filesystems = { root: reader.filesystem('root'), image: reader.filesystem('image'), container: reader.filesystem('container') };
      const storageOfPods = onlyCpuAndMemory ? new Map() : storageReader.all();
      return renderSummary({ ...node, hugePagesBytes: reader.machine()?.hugePagesBytes ?? 0 }, grouped, {
        onlyCpuAndMemory,
        filesystems,
        storage: storageOfPods,
        rlimit: readRlimit(),
        nowMs: Date.now(),
      });
    },
    cadvisor(ofRuntime) {
      const machine = reader.machine();
      if (ofRuntime !== undefined) return ofRuntime + renderMachineMetrics(machine);
      const filesystems = reader.nodeFilesystems();
      return renderCadvisorPage({ rows: reader.all(), machine, filesystems, nowMs: Date.now(), hasPressure, deviceName });
    },
    logs: () => renderLogMetrics(groupUsage(reader.all())),
    resource: () => renderResourcePage(groupUsage(reader.all())),
  };
}
