/** Reads what configs depend on of this host: files of /proc and /sys, which do not hang, and resolv.conf. */
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { release } from 'node:os';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import { hugePageSizeName } from '../../../shared/linux/cgroup-values.ts';
import { readResolvConf } from '../../../shared/linux/resolv-conf.ts';
import type { HostInfo } from './config-inputs.ts';

type Lasting = Omit<HostInfo, 'resolvConf'>;

/** One a thread: what cannot change while the node is up is read once, resolv.conf at each `read`. */
export class HostInfoReader {
  readonly #settings: Pick<PodSyncSettings, 'resolvConf' | 'cgroupVersion' | 'cgroupFsRoot'>;
  #lasting: Promise<Lasting> | undefined;

  constructor(settings: Pick<PodSyncSettings, 'resolvConf' | 'cgroupVersion' | 'cgroupFsRoot'>) {
    this.#settings = settings;
  }

  /** Rejects with the system's error, which names the file, when resolv.conf cannot be read. */
  async read(): Promise<HostInfo> {
    this.#lasting ??= readLasting(this.#settings);
    const { resolvConf: path } = this.#settings;
    return { ...(await this.#lasting), resolvConf: path === '' ? null : readResolvConf(path) };
  }
}

async function readLasting({ cgroupVersion, cgroupFsRoot }: Pick<PodSyncSettings, 'cgroupVersion' | 'cgroupFsRoot'>): Promise<Lasting> {
  const [sizes, swapControllerAvailable, swapCapacityBytes, thermalThrottlePaths, selinuxEnabled] = await Promise.all([
    hugePageSizes(),
    cgroupVersion === 1 ? exists(join(cgroupFsRoot, 'memory/memory.memsw.limit_in_bytes')) : hasSwapV2(cgroupFsRoot),
    swapCapacity(),
    thermalThrottles(),
    exists('/sys/fs/selinux/enforce'),
  ]);
  return {
    hugePageSizes: sizes,
    swapControllerAvailable,
    swapCapacityBytes,
    thermalThrottlePaths,
    selinuxEnabled,
    kernelVersion: release(),
  };
}

/** Folders `hugepages-2048kB`. */
async function hugePageSizes(): Promise<string[]> {
  const names = await readdir('/sys/kernel/mm/hugepages').catch(() => []);
  return names.flatMap((name) => {
    const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    return kibibytes ? [hugePageSizeName(Number(kibibytes) * 1024)] : [];
  });
}

/** The file is not in the root cgroup, so this process's own is asked. */
async function hasSwapV2(cgroupFsRoot: string): Promise<boolean> {
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''))?.[1] ?? '';
  return exists(join(cgroupFsRoot, own, 'memory.swap.max'));
}

async function swapCapacity(): Promise<number> {
  const [, kibibytes] = /^SwapTotal:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8').catch(() => '')) ?? [];
  return Number(kibibytes ?? 0) * 1024;
}

async function thermalThrottles(): Promise<string[]> {
  const root = '/sys/devices/system/cpu';
  const cpus = (await readdir(root).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const paths = cpus.sort((a, b) => Number(a.slice(3)) - Number(b.slice(3))).map((cpu) => join(root, cpu, 'thermal_throttle'));
  const there = await Promise.all(paths.map((path) => exists(path)));
  return paths.filter((_, index) => there[index]);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
