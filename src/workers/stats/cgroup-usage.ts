/**
 * Reads the usage of one cgroup from its files, for cgroup v1 and v2. The values are those of cadvisor. Uses synchronous reads: the files are kernel
 * memory, never on a disk; a synchronous read costs a tenth of an asynchronous one, and a node reads thousands of files every ten seconds.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface CgroupUsage {
  readonly cpuUsageNs: bigint;
  readonly memoryUsageBytes: number;
  readonly memoryWorkingSetBytes: number;
  readonly memoryRssBytes: number;
  readonly pids: number;
}

export interface CgroupHierarchy {
  readonly version: 1 | 2;
  /** `/sys/fs/cgroup` */
  readonly root: string;
}

/** The directory with the child cgroups of this path. On v1 each controller has its own tree; this uses that of cpuacct. */
export function listingDirectory({ version, root }: CgroupHierarchy, path: string): string {
  return version === 2 ? join(root, path) : join(root, 'cpuacct', path);
}

/** Undefined when the cgroup is gone. The values of a missing controller are 0. */
export function readCgroupUsage(hierarchy: CgroupHierarchy, path: string): CgroupUsage | undefined {
  return hierarchy.version === 2 ? readV2(join(hierarchy.root, path)) : readV1(hierarchy.root, path);
}

function readV1(root: string, path: string): CgroupUsage | undefined {
  const cpu = read(join(root, 'cpuacct', path, 'cpuacct.usage'));
  if (cpu === undefined) return undefined;
  const memory = join(root, 'memory', path);
  const stat = read(join(memory, 'memory.stat')) ?? '';
  return usage(
    toBigInt(cpu),
    toNumber(read(join(memory, 'memory.usage_in_bytes'))),
    statValue(stat, 'total_inactive_file'),
    statValue(stat, 'total_rss'),
    toNumber(read(join(root, 'pids', path, 'pids.current'))),
  );
}

function readV2(directory: string): CgroupUsage | undefined {
  const cpu = read(join(directory, 'cpu.stat'));
  if (cpu === undefined) return undefined;
  const stat = read(join(directory, 'memory.stat')) ?? '';
  return usage(
    BigInt(statValue(cpu, 'usage_usec')) * 1000n,
    toNumber(read(join(directory, 'memory.current'))),
    statValue(stat, 'inactive_file'),
    statValue(stat, 'anon'),
    toNumber(read(join(directory, 'pids.current'))),
  );
}

function usage(cpuUsageNs: bigint, memoryUsageBytes: number, inactiveFileBytes: number, memoryRssBytes: number, pids: number): CgroupUsage {
  const memoryWorkingSetBytes = Math.max(0, memoryUsageBytes - inactiveFileBytes);
  return { cpuUsageNs, memoryUsageBytes, memoryWorkingSetBytes, memoryRssBytes, pids };
}

/** Undefined when the file does not exist, or its cgroup was removed during the read (ENODEV). */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENODEV') return undefined;
    throw err;
  }
}

/** The value of a line `key value`, or 0. Searches the text instead of splitting it: memory.stat has forty lines. */
function statValue(text: string, key: string): number {
  const lineStart = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (lineStart === 0 && !text.startsWith(`${key} `)) return 0;
  return Number.parseInt(text.slice(lineStart + key.length + 1), 10) || 0;
}

function toNumber(text: string | undefined): number {
  return text === undefined ? 0 : Number.parseInt(text, 10) || 0;
}
function toBigInt(text: string): bigint {
  const digits = text.trim();
  return /^\d+$/.test(digits) ? BigInt(digits) : 0n;
}
