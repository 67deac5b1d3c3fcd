/**
 * Reads the usage of one cgroup from its files, for cgroup v1 and v2, as libcontainer and cadvisor do (opencontainers/cgroups fs and fs2; cadvisor
 * container/libcontainer/handler.go, container/common/helpers.go). Values of a missing controller are 0.
 */
import { dirname, join } from 'node:path';
import type { UsageValues } from '../../shared/state/usage-table.ts';
import { OpenCgroupFile, readCgroupFile, type HandleBudget } from './cgroup-file.ts';
import { readChildProcesses } from './processes-below.ts';
import type { ProcessDetails } from './process-details.ts';
import {
  countLines,
  parseBlkio,
  parseIoStat,
  parsePressure,
  statValue,
  toBigInt,
  toBoundedJSON,
  toLimit,
  toNumber,
} from './parse-cgroup-files.ts';

export interface CgroupHierarchy {
  readonly version: 1 | 2;
  /** `/sys/fs/cgroup` */
  readonly root: string;
}

/** What one read returns. The sampler adds the values that need an earlier sample or other files. */
export type CgroupValues = Omit<
  UsageValues,
  | 'sampledAtMs'
  | 'cpuNanoCores'
  | 'network'
  | 'oomEvents'
  | 'logBytes'
  | 'logInodes'
  | keyof CgroupLimits
  | 'processes'
  | keyof ProcessDetails
>;
export type CgroupLimits = Pick<
  UsageValues,
  'cpuShares' | 'cpuPeriodUs' | 'cpuQuotaUs' | 'memoryLimitBytes' | 'memorySwapLimitBytes' | 'memoryReservationBytes' | 'threadsMax'
>;

export interface CgroupReader {
  /** Undefined when the cgroup is gone. */
  read(): CgroupValues | undefined;
  /** Limits change rarely: they are read less often. Also tries missing files again. */
  readLimits(): CgroupLimits;
  /**
   * Returns the PIDs of the cgroup, one per line. A cgroup without processes returns those of its child cgroups, with `hasSubCgroups`.
   * @param hasRun false: nothing has ever run in the cgroup or below, so that the child cgroups need no search
   */
  readProcesses(hasRun?: boolean): string;
  close(): void;
}

export interface CgroupReaderOptions {
  readonly handles: HandleBudget;
  /** The limit for the JSON with the I/O on each device. */
  readonly maxIoBytes: number;
  /** A runtime may have put the processes one level below, as crun does. */
  readonly hasSubCgroups: boolean;
}

/** Returns the directory with the child cgroups of this path. On v1 each controller has its own tree; this is the tree of cpuacct. */
export function listingDirectory({ version, root }: CgroupHierarchy, path: string): string {
  return version === 2 ? join(root, path) : join(root, 'cpuacct', path);
}

export function createCgroupReader(hierarchy: CgroupHierarchy, path: string, options: CgroupReaderOptions): CgroupReader {
  return hierarchy.version === 2 ? new V2Reader(join(hierarchy.root, path), options) : new V1Reader(hierarchy.root, path, options);
}

class V1Reader implements CgroupReader {
  readonly #directory: (controller: string) => string;
  readonly #files: Readonly<Record<keyof typeof v1Files, OpenCgroupFile>>;
  readonly #maxIoBytes: number;
  readonly #hasSubCgroups: boolean;
  #ioPrefix: string | undefined;

  constructor(root: string, path: string, { handles, maxIoBytes, hasSubCgroups }: CgroupReaderOptions) {
    this.#maxIoBytes = maxIoBytes;
    this.#hasSubCgroups = hasSubCgroups;
    this.#directory = (controller) => join(root, controller, path);
    // Inserts the cgroup's path after the controller. A function, because `$` has a meaning in a replacement text.
    this.#files = openAll(
      v1Files,
      (name) =>
        join(
          root,
          name.replace('/', () => `${path}/`),
        ),
      handles,
    );
  }

  read(): CgroupValues | undefined {
    const files = this.#files;
    const usage = files.cpuUsage.read();
    if (usage === undefined) return undefined;
    const ticks = files.cpuTicks.read() ?? '';
    const cfs = files.cfs.read() ?? '';
    const stat = files.memoryStat.read() ?? '';
    return {
      cpuUsageNs: toBigInt(usage),
      cpuUserNs: statValue(ticks, 'user') * nsPerTick,
      cpuSystemNs: statValue(ticks, 'system') * nsPerTick,
      ...cfsValues(cfs, statValue(cfs, 'throttled_time'), statValue(cfs, 'burst_time')),
      ...memoryValues(toNumber(files.memoryUsage.read()), statValue(stat, 'total_inactive_file'), statValue(stat, 'total_active_file')),
      memoryRssBytes: statValue(stat, 'total_rss'),
      memoryCacheBytes: statValue(stat, 'total_cache'),
      memoryMappedFileBytes: statValue(stat, 'total_mapped_file'),
      memoryKernelBytes: toNumber(files.memoryKernel.read()),
      memoryMaxUsageBytes: toNumber(files.memoryMax.read()),
      memoryFailures: toNumber(files.memoryFailures.read()),
      // Upstream takes the values of the cgroup itself here, without its children.
      pageFaults: statValue(stat, 'pgfault'),
      majorPageFaults: statValue(stat, 'pgmajfault'),
      swapBytes: statValue(stat, 'total_swap'),
      threads: toNumber(files.threads.read()),
      ...pressureValues('cpu', undefined),
      ...pressureValues('memory', undefined),
      ...pressureValues('io', undefined),
      ...reclaimValues('', ''),
      io: this.#readIo(),
    };
  }

  /** Reads the first of `v1IoFiles` that has entries, in libcontainer's order. */
  #readIo(): string {
    const prefixes = this.#ioPrefix === undefined ? v1IoFiles : [this.#ioPrefix];
    for (const prefix of prefixes) {
      const file = (name: string) => readCgroupFile(join(this.#directory('blkio'), prefix.replace('*', name)));
      const bytes = file('io_service_bytes');
      if (!bytes || !/^\d+:/.test(bytes)) continue;
      this.#ioPrefix = prefix;
      return toBoundedJSON(parseBlkio(bytes, file('io_serviced')), this.#maxIoBytes);
    }
    return '[]';
  }

  readLimits(): CgroupLimits {
    for (const file of Object.values(this.#files)) file.retry();
    this.#ioPrefix = undefined;
    const value = (controller: string, name: string) => readCgroupFile(join(this.#directory(controller), name));
    return {
      cpuShares: toNumber(value('cpu', 'cpu.shares')),
      cpuPeriodUs: toNumber(value('cpu', 'cpu.cfs_period_us')),
      cpuQuotaUs: Math.max(0, toNumber(value('cpu', 'cpu.cfs_quota_us'))),
      memoryLimitBytes: toLimit(value('memory', 'memory.limit_in_bytes')),
      memorySwapLimitBytes: toLimit(value('memory', 'memory.memsw.limit_in_bytes')),
      memoryReservationBytes: toLimit(value('memory', 'memory.soft_limit_in_bytes')),
      threadsMax: threadsMax(value('pids', 'pids.max')),
    };
  }

  readProcesses(hasRun = true): string {
    return readProcesses(this.#files.processes, this.#hasSubCgroups && hasRun);
  }
  close(): void {
    for (const file of Object.values(this.#files)) file.close();
  }
}

class V2Reader implements CgroupReader {
  readonly #directory: string;
  readonly #files: Readonly<Record<keyof typeof v2Files, OpenCgroupFile>>;
  readonly #maxIoBytes: number;
  readonly #hasSubCgroups: boolean;

  constructor(directory: string, { handles, maxIoBytes, hasSubCgroups }: CgroupReaderOptions) {
    this.#maxIoBytes = maxIoBytes;
    this.#hasSubCgroups = hasSubCgroups;
    this.#directory = directory;
    this.#files = openAll(v2Files, (name) => join(directory, name), handles);
  }

  read(): CgroupValues | undefined {
    const files = this.#files;
    const cpu = files.cpuStat.read();
    if (cpu === undefined) return undefined;
    const stat = files.memoryStat.read() ?? '';
    const current = files.memoryUsage.read();
    const threads = files.threads.read();
    const rssBytes = statValue(stat, 'anon');
    const cacheBytes = statValue(stat, 'file');
    return {
      cpuUsageNs: BigInt(statValue(cpu, 'usage_usec')) * 1000n,
      cpuUserNs: statValue(cpu, 'user_usec') * 1000,
      cpuSystemNs: statValue(cpu, 'system_usec') * 1000,
      ...cfsValues(cpu, statValue(cpu, 'throttled_usec') * 1000, statValue(cpu, 'burst_usec') * 1000),
      // The root cgroup has no memory.current.
      ...memoryValues(
        current === undefined ? rssBytes + cacheBytes : toNumber(current),
        statValue(stat, 'inactive_file'),
        statValue(stat, 'active_file'),
      ),
      memoryRssBytes: rssBytes,
      memoryCacheBytes: cacheBytes,
      memoryMappedFileBytes: statValue(stat, 'file_mapped'),
      // libcontainer sets neither memoryKernelBytes nor memoryFailures on v2.
      memoryKernelBytes: 0,
      memoryFailures: 0,
      memoryMaxUsageBytes: toNumber(files.memoryMax.read()),
      pageFaults: statValue(stat, 'pgfault'),
      majorPageFaults: statValue(stat, 'pgmajfault'),
      swapBytes: toNumber(files.swap.read()),
      // The root cgroup has no pids.current, nor has a cgroup without the pids controller. libcontainer then counts the processes.
      threads: threads === undefined ? countLines(this.readProcesses()) : toNumber(threads),
      ...pressureValues('cpu', files.cpuPressure.read()),
      ...pressureValues('memory', files.memoryPressure.read()),
      ...pressureValues('io', files.ioPressure.read()),
      ...reclaimValues(stat, files.memoryEvents.read() ?? ''),
      io: toBoundedJSON(parseIoStat(files.io.read()), this.#maxIoBytes),
    };
  }

  readLimits(): CgroupLimits {
    for (const file of Object.values(this.#files)) file.retry();
    const value = (name: string) => readCgroupFile(join(this.#directory, name));
    const weight = toNumber(value('cpu.weight'));
    const [quota = '', period] = (value('cpu.max') ?? '').split(' ');
    return {
      // cadvisor maps the weights 1 to 10,000 linearly to the shares 2 to 262,144. The kubelet converts in another way.
      cpuShares: weight >= 1 && weight <= 10_000 ? 2 + Math.floor(((weight - 1) * 262_142) / 9999) : 0,
      cpuPeriodUs: toNumber(period),
      cpuQuotaUs: toNumber(quota),
      memoryLimitBytes: toLimit(value('memory.max')),
      memorySwapLimitBytes: toLimit(value('memory.swap.max')),
      memoryReservationBytes: toLimit(value('memory.min')),
      threadsMax: threadsMax(value('pids.max')),
    };
  }

  readProcesses(hasRun = true): string {
    return readProcesses(this.#files.processes, this.#hasSubCgroups && hasRun);
  }
  close(): void {
    for (const file of Object.values(this.#files)) file.close();
  }
}

/** Returns the PIDs in the file, or those of child cgroups when it has none. */
function readProcesses(file: OpenCgroupFile, searchChildren: boolean): string {
  return file.read() || (searchChildren ? readChildProcesses(dirname(file.path)) : '');
}

/** The kernel reports clock ticks: 100 per second on every Linux that Node supports. */
const nsPerTick = 10_000_000;

/** The files of v1, below the hierarchy of their controller. `kept`: the handle is kept. */
const v1Files = {
  cpuUsage: { name: 'cpuacct/cpuacct.usage', kept: true },
  memoryStat: { name: 'memory/memory.stat', kept: true },
  memoryUsage: { name: 'memory/memory.usage_in_bytes', kept: true },
  processes: { name: 'cpu/cgroup.procs', kept: true },
  cpuTicks: { name: 'cpuacct/cpuacct.stat', kept: true },
  cfs: { name: 'cpu/cpu.stat', kept: true },
  threads: { name: 'pids/pids.current', kept: true },
  memoryMax: { name: 'memory/memory.max_usage_in_bytes', kept: false },
  memoryFailures: { name: 'memory/memory.failcnt', kept: false },
  memoryKernel: { name: 'memory/memory.kmem.usage_in_bytes', kept: false },
} as const;
/** `*` stands for io_service_bytes or io_serviced. */
const v1IoFiles = ['blkio.bfq.*_recursive', 'blkio.*_recursive', 'blkio.throttle.*_recursive', 'blkio.throttle.*'];

const v2Files = {
  cpuStat: { name: 'cpu.stat', kept: true },
  memoryStat: { name: 'memory.stat', kept: true },
  memoryUsage: { name: 'memory.current', kept: true },
  memoryEvents: { name: 'memory.events', kept: true },
  processes: { name: 'cgroup.procs', kept: true },
  threads: { name: 'pids.current', kept: true },
  io: { name: 'io.stat', kept: true },
  swap: { name: 'memory.swap.current', kept: true },
  memoryMax: { name: 'memory.peak', kept: false },
  cpuPressure: { name: 'cpu.pressure', kept: true },
  memoryPressure: { name: 'memory.pressure', kept: true },
  ioPressure: { name: 'io.pressure', kept: true },
} as const;

function openAll<K extends string>(
  files: Readonly<Record<K, { readonly name: string; readonly kept: boolean }>>,
  toPath: (name: string) => string,
  handles: HandleBudget,
): Readonly<Record<K, OpenCgroupFile>> {
  const entries = Object.entries<{ readonly name: string; readonly kept: boolean }>(files);
  return Object.fromEntries(
    entries.map(([key, { name, kept }]) => [key, new OpenCgroupFile(toPath(name), kept ? handles : null)]),
  ) as Record<K, OpenCgroupFile>;
}

/** The texts are memory.stat and memory.events of cgroup v2. */
function reclaimValues(stat: string, events: string) {
  return {
    memoryEventsHigh: statValue(events, 'high'),
    memoryEventsMax: statValue(events, 'max'),
    memoryFileDirtyBytes: statValue(stat, 'file_dirty'),
    memoryFileWritebackBytes: statValue(stat, 'file_writeback'),
    pagesScanned: statValue(stat, 'pgscan'),
    pagesReclaimed: statValue(stat, 'pgsteal'),
    fileRefaults: statValue(stat, 'workingset_refault_file'),
    anonRefaults: statValue(stat, 'workingset_refault_anon'),
  };
}

function cfsValues(stat: string, cfsThrottledNs: number, cfsBurstNs: number) {
  return {
    cfsPeriods: statValue(stat, 'nr_periods'),
    cfsThrottledPeriods: statValue(stat, 'nr_throttled'),
    cfsThrottledNs,
    cfsBurstPeriods: statValue(stat, 'nr_bursts'),
    cfsBurstNs,
  };
}

/** The working set is at least 0: its two counters are read at different moments. */
function memoryValues(memoryUsageBytes: number, memoryInactiveFileBytes: number, memoryActiveFileBytes: number) {
  const memoryWorkingSetBytes = Math.max(0, memoryUsageBytes - memoryInactiveFileBytes);
  return { memoryUsageBytes, memoryWorkingSetBytes, memoryInactiveFileBytes, memoryActiveFileBytes };
}

type PressureField = `${'Some' | 'Full'}${'TotalUs' | 'Avg10' | 'Avg60' | 'Avg300'}`;

function pressureValues<P extends string>(prefix: P, text: string | undefined): Record<`${P}${PressureField}`, number> {
  const { some, full } = parsePressure(text);
  const values: Record<PressureField, number> = {
    SomeTotalUs: some.totalUs,
    SomeAvg10: some.avg10,
    SomeAvg60: some.avg60,
    SomeAvg300: some.avg300,
    FullTotalUs: full.totalUs,
    FullAvg10: full.avg10,
    FullAvg60: full.avg60,
    FullAvg300: full.avg300,
  };
  const named = Object.entries(values).map(([name, value]) => [prefix + name, value]);
  return Object.fromEntries(named) as Record<`${P}${PressureField}`, number>;
}

/** libcontainer's PidsStats.Limit: 0 for no limit. */
function threadsMax(text: string | undefined): number {
  const limit = toLimit(text);
  return limit === Infinity ? 0 : limit;
}
