/** Reads the machine's information from procfs, sysfs and its ID files, as cadvisor does, which is upstream's source of the node status. */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { parseCPUList } from '../../shared/linux/cpu-list.ts';
import { countProcessors, parseMeminfo, parseOsRelease } from '../../shared/linux/procfs.ts';

export interface MachinePaths {
  /** `/`, or a temporary directory in tests. */
  readonly root: string;
  /** The kubelet's root directory. Its filesystem is the node's ephemeral storage. */
  readonly rootDir: string;
}

const machineIdFiles = ['etc/machine-id', 'var/lib/dbus/machine-id'];
/** The first file with content is used: DMI, the device tree, the machine ID. */
const systemUuidFiles = ['sys/class/dmi/id/product_uuid', 'proc/device-tree/system-id', 'proc/device-tree/vm,uuid', ...machineIdFiles];
const osReleaseFiles = ['etc/os-release', 'usr/lib/os-release'];

/** Rejects when procfs cannot be read. All other missing values are empty, or 0. */
export async function readMachineInfo({ root, rootDir }: MachinePaths): Promise<MachineInfo> {
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const [cpuinfo, meminfo, bootID, kernelVersion, filesystem] = await Promise.all([
    read('proc/cpuinfo'),
    read('proc/meminfo'),
    read('proc/sys/kernel/random/boot_id'),
    read('proc/sys/kernel/osrelease'),
    statfs(rootDir),
  ]);
  const memory = parseMeminfo(meminfo);
  const [pidMax, threadsMax, onlineCPUs] = await Promise.all(
    ['proc/sys/kernel/pid_max', 'proc/sys/kernel/threads-max', 'sys/devices/system/cpu/online'].map((path) => readFirst(root, [path])),
  );
  const maxPids = Math.min(Number(pidMax || Infinity), Number(threadsMax || Infinity));
  const [hugePages, machineID, systemUUID, osRelease] = await Promise.all([
    readHugePages(root),
    readFirst(root, machineIdFiles),
    readFirst(root, systemUuidFiles),
    readFirst(root, osReleaseFiles),
  ]);
  return {
    numCores: countOnline(onlineCPUs) || countProcessors(cpuinfo),
    memoryBytes: memory.get('MemTotal') ?? 0,
    swapBytes: memory.get('SwapTotal') ?? 0,
    hugePages,
    ...(Number.isFinite(maxPids) ? { maxPids } : {}),
    ...(onlineCPUs ? { onlineCPUs } : {}),
    rootFsCapacityBytes: filesystem.blocks * filesystem.bsize,
    rootFsInodes: filesystem.files,
    machineID,
    systemUUID,
    bootID: bootID.trim(),
    kernelVersion: kernelVersion.trim(),
    osImage: parseOsRelease(osRelease).get('PRETTY_NAME') ?? 'Unknown',
  };
}

/** Counts the online processors, as cadvisor does: the format of cpuinfo depends on the architecture. 0 for an invalid list. */
function countOnline(list: string | undefined): number {
  try {
    return parseCPUList(list ?? '').size;
  } catch {
    return 0;
  }
}

/** Returns the trimmed content of the first file that is not empty. Strings in device trees end with NUL. */
async function readFirst(root: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const content = await readFile(join(root, path), 'utf8').catch(() => '');
    const value = content.replaceAll('\0', '').trim();
    if (value !== '') return value;
  }
  return '';
}

async function readHugePages(root: string): Promise<MachineInfo['hugePages']> {
  const directory = join(root, 'sys/kernel/mm/hugepages');
  const names = await readdir(directory).catch(() => []);
  const sizes = names.flatMap((name) => {
    const pageSizeKiB = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
    return Number.isNaN(pageSizeKiB) ? [] : [{ name, pageSizeKiB }];
  });
  const pageSizes = sizes.map(async ({ name, pageSizeKiB }) => ({
    pageSizeKiB,
    pages: Number(await readFile(join(directory, name, 'nr_hugepages'), 'utf8').catch(() => '0')),
  }));
  return (await Promise.all(pageSizes)).sort((a, b) => a.pageSizeKiB - b.pageSizeKiB);
}
