/** The worker data of the sync pool's threads. Piscina passes the same worker data to every thread, so each thread claims a slot in it. */
import type { PodSyncGates } from './feature-gates.ts';
import type { ThreadWorkerData } from '../thread-worker-data.ts';

export interface PodSyncWorkerData extends Omit<ThreadWorkerData, 'metrics' | 'heartbeatRow'> {
  /**
   * One metrics segment and one heartbeat row per slot. A thread claims the first free slot (shared/state/claims.ts). There are more slots than
   * threads, because a replacement starts while its predecessor still ends.
   */
  readonly metricsSegments: readonly SharedArrayBuffer[];
  readonly heartbeatRows: readonly number[];
  readonly claims: SharedArrayBuffer;
  /** The driver that the runtime reports (shared/cgroups/runtime-cgroup-driver.ts). Overrides the settings; set before the first task. */
  readonly runtimeCgroupDriver: SharedArrayBuffer;
  readonly settings: PodSyncSettings;
}

/** The part of the configuration that a sync needs. */
export interface PodSyncSettings {
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly seccompDefault: boolean;
  readonly seccompProfileRoot: string;
  /** The configured driver; the runtime's overrides it. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupVersion: 1 | 2;
  /** Mount point of the hierarchy: /sys/fs/cgroup. */
  readonly cgroupFsRoot: string;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
  readonly podPidsLimit: number;
  readonly memorySwapBehavior: string;
  /** Without the gate MemoryQoS, this and the next setting have no effect. */
  readonly memoryReservationPolicy: string;
  /** Null: memory is not throttled. */
  readonly memoryThrottlingFactor: number | null;
  /** The memory of systemReserved and kubeReserved. */
  readonly reservedMemoryBytes: number;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Gate DefaultPodSysctls: empty without it. */
  readonly defaultPodSysctls: Readonly<Record<string, string>>;
  readonly maxContainerBackOffMs: number;
  readonly initialContainerBackOffMs: number;
  readonly singleProcessOOMKill: boolean;
  readonly featureGates: PodSyncGates;
}

/** Notification of a pool thread to main: the thread has claimed its slot. */
export interface SlotClaimed {
  readonly claimedSlot: number;
  /** Monotonic ms, before the thread's first beat. */
  readonly atMs: number;
}
