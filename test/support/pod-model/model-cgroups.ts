/**
 * The cgroups of a modelled node, with the kernel's rules. With v1 a memory limit below the usage is refused, and so is a CPU quota of a child that is
 * larger than its parent's; with v2 such a limit kills, which must not happen. The real PodCgroups works on them.
 */
import type { CgroupManager } from '../../../src/workers/pod-sync/cgroups/cgroup-manager.ts';
import { toCgroupFiles, type CgroupFile } from '../../../src/workers/pod-sync/cgroups/cgroup-files.ts';
import type { CgroupTree } from '../../../src/workers/pod-sync/cgroups/cgroup-tree.ts';
import { PodCgroups } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { cgroupPath, type CgroupName } from '../../../src/shared/cgroups/cgroup-names.ts';
import type { CgroupResources } from '../../../src/shared/cgroups/cgroup-values.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { KillPoints } from './kill-points.ts';
import { MortalClock, type Life, type ModelClock } from './model-clock.ts';
import { modelLogger as logger } from './model-log.ts';
import type { ModelContainer, ModelRuntime } from './model-runtime.ts';

type Values = Map<string, string>;

const memoryFiles = ['memory.limit_in_bytes', 'memory.max'];
const quotaFile = 'cpu.cfs_quota_us';
/** A usage that is as old as this was the same when the kubelet read it. */
const steadyMs = 5000;
const writeMs = 1;

export class ModelCgroups {
  /** By path. */
  readonly #cgroups = new Map<string, Values>();
  /** The number of the next writes that fail. */
  failures = 0;
  /** Limits of v2 below what was used. */
  readonly kills = new Set<string>();
  readonly #version: 1 | 2;
  readonly #runtime: ModelRuntime;
  readonly #clock: ModelClock;
  readonly #killPoints: KillPoints;

  constructor(version: 1 | 2, runtime: ModelRuntime, clock: ModelClock, killPoints: KillPoints) {
    this.#version = version;
    this.#runtime = runtime;
    this.#clock = clock;
    this.#killPoints = killPoints;
    runtime.checkResources = (container) => this.#checkContainer(container);
  }

  get version(): 1 | 2 {
    return this.#version;
  }

  podCgroups(life: Life, settings: PodSyncSettings): PodCgroups {
    return new PodCgroups({
      settings,
      tree: this.#tree() as unknown as CgroupTree,
      manager: this.#manager(life),
      hugePageSizes: [],
      clock: new MortalClock(this.#clock, life),
      logger,
    });
  }

  #tree(): Partial<CgroupTree> {
    const usageOf = async (path: string) => this.#usage(path);
    return {
      exists: async (path) => this.#cgroups.has(path),
      existsInAnyHierarchy: async (path) => this.#cgroups.has(path),
      read: async (path, _, file) => this.#cgroups.get(path)?.get(file),
      hasValues: async (path, files) => files.every(({ file, value }) => (this.#cgroups.get(path)?.get(file) ?? value) === value),
      memoryUsage: usageOf,
      children: async (path) => this.#containersIn(path).map(({ id }) => id),
      killAll: async () => {},
      thaw: async () => {},
    };
  }

  #manager(life: Life): CgroupManager {
    const step = async (act: () => void) => {
      await this.#clock.sleep(writeMs);
      this.#killPoints.pass();
      if (!life.isAlive) return;
      if (this.failures > 0) {
        this.failures -= 1;
        throw new Error('EIO: a fault of the test');
      }
      act();
      this.#killPoints.pass();
    };
    const pathOf = (name: CgroupName) => cgroupPath(name, 'cgroupfs');
    const files = (resources: CgroupResources) => toCgroupFiles(resources, this.#version, []);
    return {
      driver: 'cgroupfs',
      create: (name, resources) =>
        life.guard(
          step(() => {
            if (!this.#cgroups.has(pathOf(name))) this.#cgroups.set(pathOf(name), kernelDefaults(this.#version));
            // What the kernel refuses is logged.
            for (const file of files(resources)) this.#write(pathOf(name), file);
          }),
        ),
      update: (name, resources) =>
        life.guard(
          step(() => {
            for (const file of files(resources)) {
              const refused = this.#write(pathOf(name), file);
              if (refused) throw new Error(`cannot write ${file.value} to ${file.file}`, { cause: new Error(refused) });
            }
          }),
        ),
      remove: async (name) => void this.#cgroups.delete(pathOf(name)),
      close: () => {},
    };
  }

  /** Returns the kernel's error; null when the value is set. */
  #write(path: string, { file, value }: CgroupFile): string | null {
    const values = this.#cgroups.get(path);
    if (!values) return 'ENOENT';
    if (memoryFiles.includes(file) && Number(value) < this.#usage(path) && this.#refusesMemory(path, this.#containersIn(path)))
      return 'EBUSY';
    if (file === quotaFile && this.#containersIn(path).some((container) => exceeds(quotaOf(container), Number(value)))) return 'EINVAL';
    values.set(file, value);
    return null;
  }

  /** With v2 the kernel kills instead. */
  #refusesMemory(path: string, users: readonly ModelContainer[]): boolean {
    if (this.#version === 1) return true;
    const isSteady = users.every(({ usageBytes, usedSinceMs }) => usageBytes === 0 || this.#clock.now() - usedSinceMs > steadyMs);
    if (isSteady) this.kills.add(path);
    return false;
  }

  #checkContainer(container: ModelContainer): string | null {
    const { id, sandbox, resources, usageBytes } = container;
    if (resources.memoryLimit > 0 && resources.memoryLimit < usageBytes && this.#refusesMemory(id, [container]))
      return 'device or resource busy';
    if (this.#version === 2) return null;
    const parent = this.#cgroups.get(sandbox.config.linux?.cgroupParent ?? '');
    if (!parent) return 'no such file or directory';
    return exceeds(resources.cpuQuota, Number(parent.get(quotaFile) ?? -1)) ? 'invalid argument' : null;
  }

  #usage(path: string): number {
    const inside = [...this.#runtime.containers.values()].filter(
      ({ id, sandbox }) =>
        `${path}/`.startsWith(`${sandbox.config.linux?.cgroupParent}/`) && (!isContainer(path) || path.endsWith(`/${id}`)),
    );
    return inside.reduce((sum, { state, usageBytes }) => sum + (state === 'running' ? usageBytes : 0), 0);
  }

  #containersIn(path: string): readonly ModelContainer[] {
    return this.#runtime.running().filter(({ sandbox }) => sandbox.config.linux?.cgroupParent === path);
  }
}

const isContainer = (path: string) => /\/c-\d+$/.test(path);
const quotaOf = ({ resources }: ModelContainer) => resources.cpuQuota;
/** −1 is no limit: such a child has its parent's. */
const exceeds = (child: number, parent: number) => child > 0 && parent > 0 && child > parent;

function kernelDefaults(version: 1 | 2): Values {
  const files = {
    1: { 'memory.limit_in_bytes': String(2 ** 63), [quotaFile]: '-1', 'cpu.cfs_period_us': '100000', 'cpu.shares': '1024' },
    2: {
      'memory.max': 'max',
      'memory.high': 'max',
      'memory.low': '0',
      'memory.min': '0',
      'cpu.max': 'max 100000',
      'cpu.weight': '100',
    },
  };
  return new Map(Object.entries(files[version]));
}
