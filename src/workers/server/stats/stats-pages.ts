/**
 * The pages about resource usage: /stats/summary, /metrics/resource, /metrics/cadvisor and a part of /metrics. They are rendered from tables in shared memory,
 * which the stats thread writes; no page waits for another thread. Created by the server thread; called by its routes.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { parseBootTime } from '../../../shared/linux/procfs.ts';
import { ClaimedVolumesReader, type ClaimedVolumeRow } from '../../../shared/state/claimed-volumes-table.ts';
import { StorageReader } from '../../../shared/state/storage-table.ts';
import { UsageReader, type CgroupUsage } from '../../../shared/state/usage-table.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';
import { cadvisorFamilies, machineFamilies } from './cadvisor-page.ts';
import { createDeviceNames } from './device-names.ts';
import { groupUsage } from './group-usage.ts';
import { layerFilesystem } from './layer-filesystem.ts';
import { logFamilies } from './log-metrics.ts';
import { readRlimit } from '../../../shared/linux/read-rlimit.ts';
import { resourceFamilies } from './resource-page.ts';
import { renderSummary } from './summary.ts';
import { volumeFamilies } from './volume-metrics.ts';

export interface StatsPagesOptions {
  readonly nodeName: string;
  readonly usage: SharedArrayBuffer;
  readonly storage: SharedArrayBuffer;
  readonly claimedVolumes: SharedArrayBuffer;
  readonly hasContainerFilesystems: boolean;
  /** `/sys/fs/cgroup` */
  readonly cgroupFsRoot: string;
}

export interface StatsPages {
  /** Returns the text in pieces. Throws until the node was measured once, a few seconds after the start. */
  summary(onlyCpuAndMemory: boolean): Iterable<string>;
  resource(): Iterable<MetricFamily>;
  /** A part of the page /metrics. */
  logs(): readonly MetricFamily[];
  /** A part of the page /metrics. */
  volumes(): readonly MetricFamily[];
  cadvisor(): Iterable<MetricFamily>;
  /** All that the kubelet adds to /metrics/cadvisor when the runtime has its own metrics of containers. */
  machine(): Iterable<MetricFamily>;
}

export function createStatsPages({
  nodeName,
  usage,
  storage,
  claimedVolumes,
  hasContainerFilesystems,
  cgroupFsRoot,
}: StatsPagesOptions): StatsPages {
  const reader = new UsageReader(usage);
  const storageReader = new StorageReader(storage);
  const claimsReader = new ClaimedVolumesReader(claimedVolumes);
  const node = {
    nodeName,
    bootedAtMs: parseBootTime(readFileSync('/proc/stat', 'utf8')) * 1000,
    kubeletStartedAtMs: Date.now() - process.uptime() * 1000,
  };
  const hasPressure = canOpen(join(cgroupFsRoot, 'cpu.pressure'));
  const deviceName = createDeviceNames();
  return {
    summary(onlyCpuAndMemory) {
      const claimedVolumes: ReadonlyMap<string, readonly ClaimedVolumeRow[]> = onlyCpuAndMemory ? new Map() : claimsReader.all();
      const grouped = groupUsage(reader.all(), claimedVolumes);
      // Upstream's message, without its path through cadvisor.
      if (!grouped.root) throw new Error('failed to get root cgroup stats: failed to get container info for "/": unknown container "/"');
      const filesystems = { root: reader.filesystem('root'), image: reader.filesystem('image'), container: reader.filesystem('container') };
      const storageOfPods = onlyCpuAndMemory ? new Map() : storageReader.all();
      return renderSummary({ ...node, hugePagesBytes: reader.machine()?.hugePagesBytes ?? 0 }, grouped, {
        onlyCpuAndMemory,
        filesystems,
        storage: storageOfPods,
        claimedVolumes,
        rlimit: readRlimit(),
        nowMs: Date.now(),
      });
    },
    cadvisor() {
      const [machine, filesystems] = [reader.machine(), reader.nodeFilesystems()];
      const layersFilesystem = reader.filesystem('container');
      const storageOfPods = hasContainerFilesystems ? storageReader.all() : undefined;
      const layerOf = (row: CgroupUsage) =>
        storageOfPods && layerFilesystem(row, storageOfPods.get(row.identity.podUID as PodUID), layersFilesystem, filesystems);
      return cadvisorFamilies({ rows: reader.all(), machine, filesystems, layerOf, nowMs: Date.now(), hasPressure, deviceName });
    },
    machine: () => machineFamilies(reader.machine()),
    logs: () => logFamilies(groupUsage(reader.all())),
    volumes: () => {
      const claimed = claimsReader.all();
      return claimed.size === 0 ? [] : volumeFamilies(storageReader.all(), claimed);
    },
    resource: () => resourceFamilies(groupUsage(reader.all())),
  };
}

/** Upstream: IsPsiEnabled of pkg/kubelet/cadvisor. cgroup v1 has no such file, and a kernel without `psi=1` may refuse to open the file. */
function canOpen(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch {
    return false;
  }
}
