/** Reads the properties of the host that configs depend on, from /proc and /sys, and its resolv.conf. */
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { release } from 'node:os';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import { hugePageSizeName } from '../../../../shared/cgroups/cgroup-values.ts';
import { isSwapLimited } from '../../../../shared/kubernetes/swap.ts';
import { readResolvConf } from '../../../../shared/linux/resolv-conf.ts';
import type { HostInfo } from './config-inputs.ts';

type StaticHostInfo = Omit<HostInfo, 'resolvConf' | 'swapCapacityBytes'>;
type Settings = Pick<PodSyncSettings, 'resolvConf' | 'cgroupVersion' | 'cgroupFsRoot' | 'memorySwapBehavior'>;

/** Each thread has one. Reads properties that cannot change until the next boot once; resolv.conf, and the swap that containers share, at each `read`. */
export class HostInfoReader {
  readonly #settings: Settings;
  #staticInfo: Promise<StaticHostInfo> | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Rejects with the system's error, which contains the path, when resolv.conf cannot be read. */
  async read(): Promise<HostInfo> {
    this.#staticInfo ??= readStaticInfo(this.#settings);
    const { resolvConf: path, memorySwapBehavior } = this.#settings;
    const swapCapacityBytes = isSwapLimited(memorySwapBehavior) ? await readSwapCapacityBytes() : 0;
    return { ...(await this.#staticInfo), swapCapacityBytes, resolvConf: path === '' ? null : readResolvConf(path) };
  }
}

async function readStaticInfo({
  cgroupVersion,
  cgroupFsRoot,
}: Pick<PodSyncSettings, 'cgroupVersion' | 'cgroupFsRoot'>): Promise<StaticHostInfo> {
  const [sizes, swapControllerAvailable, thermalThrottlePaths, selinuxEnabled] = await Promise.all([
    readHugePageSizes(),
    cgroupVersion === 1 ? exists(join(cgroupFsRoot, 'memory/memory.memsw.limit_in_bytes')) : hasSwapV2(cgroupFsRoot),
    findThermalThrottlePaths(),
    exists('/sys/fs/selinux/enforce'),
  ]);
  return {
    hugePageSizes: sizes,
    swapControllerAvailable,
    thermalThrottlePaths,
    selinuxEnabled,
    kernelVersion: release(),
  };
}

/** Parses the names of the folders, such as `hugepages-2048kB`. */
async function readHugePageSizes(): Promise<string[]> {
  const names = await readdir('/sys/kernel/mm/hugepages').catch(() => []);
  return names.flatMap((name) => {
    const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    return kibibytes ? [hugePageSizeName(Number(kibibytes) * 1024)] : [];
  });
}

/** Checks this process's cgroup, since the root cgroup does not have the file. */
async function hasSwapV2(cgroupFsRoot: string): Promise<boolean> {
  const cgroup = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''))?.[1] ?? '';
  return exists(join(cgroupFsRoot, cgroup, 'memory.swap.max'));
}

async function readSwapCapacityBytes(): Promise<number> {
  const [, kibibytes] = /^SwapTotal:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8').catch(() => '')) ?? [];
  return Number(kibibytes ?? 0) * 1024;
}

async function findThermalThrottlePaths(): Promise<string[]> {
  const root = '/sys/devices/system/cpu';
  const cpus = (await readdir(root).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const paths = cpus.sort((a, b) => Number(a.slice(3)) - Number(b.slice(3))).map((cpu) => join(root, cpu, 'thermal_throttle'));
  const found = await Promise.all(paths.map((path) => exists(path)));
  return paths.filter((_, index) => found[index]);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
