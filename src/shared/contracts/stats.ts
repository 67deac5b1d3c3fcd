/** The stats thread reads the machine's information, and samples the usage of each pod's cgroup. It decides nothing. */
import type { MetricsFormat } from '../metrics/exposition/negotiate.ts';
import type { MessagePort } from 'node:worker_threads';
import type { ThreadWorkerData } from './thread-worker-data.ts';
import type { VolumeStatsReply, VolumeStatsRequest } from './volumes.ts';

export interface StatsWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** The configured driver. The runtime's (shared/cgroups/runtime-cgroup-driver.ts) overrides it. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly runtimeCgroupDriver: SharedArrayBuffer;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupFsRoot: string;
  readonly cgroupRoot: string;
  /** Whether pods have cgroups of their own. */
  readonly cgroupsPerQOS: boolean;
  /** The cgroups of the kubelet, the runtime and other system processes. Empty: not known. */
  readonly systemCgroups: { readonly kubelet: string; readonly runtime: string; readonly misc: string };
  /** The endpoint of the runtime that reports the usage of pods (gate PodAndContainerStatsFromCRI). Empty: the thread measures the cgroups. */
  readonly statsFromRuntime: string;
  /** 10 s in upstream (cadvisorHousekeepingInterval). */
  readonly housekeepingPeriodMs: number;
  readonly snapshot: SharedArrayBuffer;
  /** The usage table (shared/state/usage-table.ts). This thread writes all of its rows, except those of the filesystems of images and containers. */
  readonly usage: SharedArrayBuffer;
  /** The storage table (shared/state/storage-table.ts). This thread is its only writer. */
  readonly storage: SharedArrayBuffer;
  /** `volumeStatsAggPeriod`: how often volumes are measured. 0 or less: never. */
  readonly volumeStatsPeriodMs: number;
  /** Gate HugepageAwareEviction: huge pages are not available memory. */
  readonly hugePageAware: boolean;
  /** Gate LocalStorageCapacityIsolationFSQuotaMonitoring: the filesystem is asked for the usage of volumes that have a project. */
  readonly projectQuotas: boolean;
  /** Eviction thresholds of memory. Empty: the kernel is not asked for notifications. */
  readonly memoryThresholds: readonly MemoryThreshold[];
  /** kernelMemcgNotification: the kernel reports when the usage crosses a threshold. On cgroup v1 only. */
  readonly notifiesMemoryUsage: boolean;
  /** Posts StatsNotification. */
  readonly events: MessagePort;
  /** Serves StatsMainApi. */
  readonly main: MessagePort;
}

/** The calls of the stats thread to main. */
export interface StatsMainApi {
  /** What the driver of a CSI volume says about the usage of the volume. Rejects when the volumes thread has died meanwhile. */
  volumeStats(request: VolumeStatsRequest): Promise<VolumeStatsReply>;
}

export interface MemoryThreshold {
  /** The whole node, or the cgroup of all pods. */
  readonly scope: 'node' | 'pods';
  readonly available: { readonly bytes: number } | { readonly fraction: number };
}

export type StatsNotification = ({ readonly type: 'systemOOM' } & SystemOOM) | MemoryPressure | PodCgroupsAppeared;

/** The kernel reports that memory is scarce: tasks waited for it, or the usage of a cgroup crossed a threshold. At most one notification a second. */
export interface MemoryPressure {
  readonly type: 'memoryPressure';
  readonly source: 'stall' | 'usage';
}

/** These pods have a cgroup that has appeared, or that was there when the thread started. */
export interface PodCgroupsAppeared {
  readonly type: 'podCgroupsAppeared';
  readonly podUIDs: readonly string[];
}

/** A process was ended because the node's memory was exhausted. */
export interface SystemOOM {
  /** 0: not known. */
  readonly pid: number;
  readonly processName: string;
}

export interface MachineInfo {
  readonly numCores: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly pages: number }[];
  /** The most processes that the kernel allows. Absent: not known. */
  readonly maxPids?: number;
  /** A list such as `0-3`. Absent: not known. */
  readonly onlineCPUs?: string;
  readonly rootFsCapacityBytes: number;
  readonly rootFsInodes: number;
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
}

export interface StatsApi {
  machineInfo(): Promise<MachineInfo>;
  /**
   * Samples the cgroups and the root directory's filesystem now. Resolves when their rows are written, or after some seconds when the filesystem hangs: its
   * row then stays old. Calls that arrive during a sample share the next one.
   */
  sampleNow(): Promise<void>;
  /** The runtime's metrics of containers in a format. Undefined: it has none. The bytes are transferred. */
  runtimeMetrics(format: MetricsFormat): Promise<Uint8Array | undefined>;
  /** Replaces the thresholds of the worker data. */
  setMemoryThresholds(thresholds: readonly MemoryThreshold[]): Promise<void>;
  close(): Promise<void>;
}
