/**
 * The columns of the usage table: the identity of a cgroup, and its measured values. Meaning and units are cadvisor's (github.com/google/cadvisor,
 * info/v1/container.go).
 */
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';
import { f64, i64, boundedText, u32, u8, type Row } from './table-layout.ts';

/** `qos` is `kubepods` and the cgroups of its QoS classes; `kubelet`, `runtime`, `misc` and `pods` are the system containers of /stats/summary. */
export const cgroupKinds = ['root', 'kubelet', 'runtime', 'misc', 'pods', 'qos', 'pod', 'sandbox', 'container'] as const;
export type CgroupKind = (typeof cgroupKinds)[number];

export const identityFields = {
  /** An index into `cgroupKinds`. */
  kind: u8,
  /** The path below the mount point of each hierarchy: `/kubepods/pod…`. */
  path: boundedText(1024),
  /** A static pod's manifest may set a UID that is longer than the API server's 36 characters. Empty unless the cgroup belongs to a pod. */
  podUID: boundedText<PodUID | ''>(128),
  podName: boundedText(253),
  podNamespace: boundedText(63),
  containerName: boundedText(63),
  /** The ID of a container or sandbox. Empty for other kinds. */
  containerID: boundedText<ContainerID | SandboxID | ''>(128),
  /** The image of a container or sandbox. Empty for other kinds. */
  image: boundedText(512),
  /** Wall-clock ms of the cgroup's creation. */
  createdAtMs: f64,
};

const pressureFields = <P extends string>(prefix: P) => {
  const names = ['SomeTotalUs', 'SomeAvg10', 'SomeAvg60', 'SomeAvg300', 'FullTotalUs', 'FullAvg10', 'FullAvg60', 'FullAvg300'] as const;
  return Object.fromEntries(names.map((name) => [prefix + name, f64])) as Record<`${P}${(typeof names)[number]}`, typeof f64>;
};

export const valueFields = {
  /** The version of the identity's row that these values belong to. Readers thereby ignore the values of an earlier cgroup in the same row. */
  identityVersion: u32,
  /** Wall-clock ms of the sample. */
  sampledAtMs: f64,
  /** This and the next two: processor time since the creation of the cgroup. */
  cpuUsageNs: i64,
  cpuUserNs: f64,
  cpuSystemNs: f64,
  /** The average between the last two samples. NaN after the first sample. */
  cpuNanoCores: f64,
  cfsPeriods: f64,
  cfsThrottledPeriods: f64,
  cfsThrottledNs: f64,
  cfsBurstPeriods: f64,
  cfsBurstNs: f64,
  memoryUsageBytes: f64,
  /** The usage without inactive file pages, which the kernel can reclaim at any time. */
  memoryWorkingSetBytes: f64,
  memoryRssBytes: f64,
  memoryCacheBytes: f64,
  memoryMappedFileBytes: f64,
  memoryKernelBytes: f64,
  memoryMaxUsageBytes: f64,
  memoryActiveFileBytes: f64,
  memoryInactiveFileBytes: f64,
  memoryFailures: f64,
  pageFaults: f64,
  majorPageFaults: f64,
  swapBytes: f64,
  /** Processes in the cgroup itself. */
  processes: f64,
  /** Open files of these processes, and how many of them are sockets. */
  fileDescriptors: f64,
  sockets: f64,
  /** The first process' soft limit of open files. −1: unlimited. */
  maxOpenFiles: f64,
  /** Tasks in the cgroup and below. */
  threads: f64,
  threadsMax: f64,
  /** Out-of-memory kills in the cgroup, and in those below that are not measured, since the stats thread began to measure the cgroup. */
  oomEvents: f64,
  /** Bytes and inodes of the files in a container's log folder. */
  logBytes: f64,
  logInodes: f64,
  cpuShares: f64,
  cpuPeriodUs: f64,
  /** 0: no quota. */
  cpuQuotaUs: f64,
  /** Infinity: no limit. */
  memoryLimitBytes: f64,
  memorySwapLimitBytes: f64,
  memoryReservationBytes: f64,
  ...pressureFields('cpu'),
  ...pressureFields('memory'),
  ...pressureFields('io'),
  /** The next eight are 0 on cgroup v1. Throttling above memory.high, and hits of memory.max, in the cgroup and below. */
  memoryEventsHigh: f64,
  memoryEventsMax: f64,
  memoryFileDirtyBytes: f64,
  memoryFileWritebackBytes: f64,
  /** Pages since the creation of the cgroup: scanned and taken by the kernel's reclaim, and read again after that. */
  pagesScanned: f64,
  pagesReclaimed: f64,
  fileRefaults: f64,
  anonRefaults: f64,
  /** A DeviceIo[] as JSON, 1 KiB with the length of the text. `io` and `network` of the node's own cgroups may be longer and are in another table (node-texts-table.ts). */
  io: boundedText(1022),
  /** An InterfaceUsage[] as JSON, for a sandbox and the root; 2 KiB with the length of the text. */
  network: boundedText(2046),
};

/** Bytes and operations on one block device, by the kernel's names of operations (`Read`, `Write`, …). */
export interface DeviceIo {
  /** `8:0` */
  readonly device: string;
  readonly bytes: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, number>>;
  /** Only where the kernel controls the cost of I/O (cgroup v2). */
  readonly costUs?: Readonly<Partial<Record<'usage' | 'wait' | 'indebt' | 'indelay', number>>>;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

export type CgroupIdentity = Omit<Row<typeof identityFields>, 'kind'> & { readonly kind: CgroupKind };
export type UsageValues = Omit<Row<typeof valueFields>, 'identityVersion'>;
/** The values of a container without a cgroup and without statistics of the runtime. */
export const unknownUsage: Partial<UsageValues> = { memoryWorkingSetBytes: NaN };
export function isMeasured({ values }: { readonly values: Pick<UsageValues, 'memoryWorkingSetBytes'> }): boolean {
  return !Number.isNaN(values.memoryWorkingSetBytes);
}

export interface CgroupUsage {
  readonly identity: CgroupIdentity;
  readonly values: UsageValues;
}
