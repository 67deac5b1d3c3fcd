/** The stats thread: machine facts, and the usage of every pod's cgroup. It decides nothing. */
import type { ThreadWorkerData } from './thread.ts';

export interface StatsWorkerData extends ThreadWorkerData {
  readonly rootDir: string;
  /** As configured: the runtime's word (shared/state/runtime-cgroup-driver.ts) goes before it. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly runtimeCgroupDriver: SharedArrayBuffer;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupFsRoot: string;
  readonly cgroupRoot: string;
  /** 10 s upstream (cadvisorHousekeepingInterval). */
  readonly housekeepingPeriodMs: number;
  readonly snapshot: SharedArrayBuffer;
  /** The usage table (shared/state/usage-table.ts): one writer, this thread. */
  readonly usage: SharedArrayBuffer;
}

export interface MachineInfo {
  readonly numCores: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly pages: number }[];
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
  close(): Promise<void>;
}
