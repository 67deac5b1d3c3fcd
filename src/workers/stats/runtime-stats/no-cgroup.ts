/** Takes the place of the cgroup reader for a container without a cgroup on this host, as in a virtual machine. What the runtime does not measure is 0. */
import type { CgroupLimits, CgroupReader, CgroupValues } from '../cgroup-reader.ts';

const pressure = ['cpu', 'memory', 'io'].flatMap((resource) =>
  ['Some', 'Full'].flatMap((who) => ['TotalUs', 'Avg10', 'Avg60', 'Avg300'].map((field) => [resource + who + field, 0] as const)),
);
const noUsage = {
  cpuUsageNs: 0n,
  cpuUserNs: 0,
  cpuSystemNs: 0,
  cfsPeriods: 0,
  cfsThrottledPeriods: 0,
  cfsThrottledNs: 0,
  cfsBurstPeriods: 0,
  cfsBurstNs: 0,
  memoryUsageBytes: 0,
  memoryWorkingSetBytes: 0,
  memoryInactiveFileBytes: 0,
  memoryActiveFileBytes: 0,
  memoryRssBytes: 0,
  memoryCacheBytes: 0,
  memoryMappedFileBytes: 0,
  memoryKernelBytes: 0,
  memoryMaxUsageBytes: 0,
  memoryFailures: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  swapBytes: 0,
  threads: 0,
  ...Object.fromEntries(pressure),
  memoryEventsHigh: 0,
  memoryEventsMax: 0,
  memoryFileDirtyBytes: 0,
  memoryFileWritebackBytes: 0,
  pagesScanned: 0,
  pagesReclaimed: 0,
  fileRefaults: 0,
  anonRefaults: 0,
  io: '[]',
} as unknown as CgroupValues;
const noLimits: CgroupLimits = {
  cpuShares: 0,
  cpuPeriodUs: 0,
  cpuQuotaUs: 0,
  memoryLimitBytes: Infinity,
  memorySwapLimitBytes: Infinity,
  memoryReservationBytes: 0,
  threadsMax: 0,
};

export const noCgroup: CgroupReader = { read: () => noUsage, readLimits: () => noLimits, readProcesses: () => '', close: () => {} };
