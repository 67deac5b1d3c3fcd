/** What machine this is, from procfs, sysfs and the files that name it (as cadvisor finds it, upstream's source of node status). */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { countProcessors, parseMeminfo, parseOsRelease } from '../../shared/linux/procfs.ts';

export interface MachinePaths {
  /** `/`; tests have a tree of their own. */
  readonly root: string;
  /** The kubelet's root folder: its filesystem is the node's ephemeral storage. */
  readonly rootDir: string;
}

const machineIdFiles = ['etc/machine-id', 'var/lib/dbus/machine-id'];
/** By firmware: DMI, then a device tree's; a machine without either goes by its machine ID. */
const systemUuidFiles = ['sys/class/dmi/id/product_uuid', 'proc/device-tree/system-id', 'proc/device-tree/vm,uuid', ...machineIdFiles];
const osReleaseFiles = ['etc/os-release', 'usr/lib/os-release'];

/** Rejects when procfs can't be read; what else is missing is empty, or 0. */
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
  const [hugePages, machineID, systemUUID, osRelease] = await Promise.all([
    readHugePages(root),
    firstOf(root, machineIdFiles),
    firstOf(root, systemUuidFiles),
    firstOf(root, osReleaseFiles),
  ]);
  return {
    numCores: countProcessors(cpuinfo),
    memoryBytes: memory.get('MemTotal') ?? 0,
    swapBytes: memory.get('SwapTotal') ?? 0,
    hugePages,
    rootFsCapacityBytes: filesystem.blocks * filesystem.bsize,
    rootFsInodes: filesystem.files,
    machineID,
    systemUUID,
    bootID: bootID.trim(),
    kernelVersion: kernelVersion.trim(),
    osImage: parseOsRelease(osRelease).get('PRETTY_NAME') ?? 'Unknown',
  };
}

/** The trimmed content of the first of the files that has any; device trees end their strings with NUL. */
async function firstOf(root: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const content = await readFile(join(root, path), 'utf8').catch(() => '');
    const value = content.replaceAll('\0', '').trim();
    if (value !== '') return value;
  }
  return '';
}

async function readHugePages(root: string): Promise<MachineInfo['hugePages']> {
  const folder = join(root, 'sys/kernel/mm/hugepages');
  const names = await readdir(folder).catch(() => []);
  const sizes = names.flatMap((name) => {
    const pageSizeKiB = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
    return Number.isNaN(pageSizeKiB) ? [] : [{ name, pageSizeKiB }];
  });
  const found = sizes.map(async ({ name, pageSizeKiB }) => ({
    pageSizeKiB,
    pages: Number(await readFile(join(folder, name, 'nr_hugepages'), 'utf8').catch(() => '0')),
  }));
  return (await Promise.all(found)).sort((a, b) => a.pageSizeKiB - b.pageSizeKiB);
}
