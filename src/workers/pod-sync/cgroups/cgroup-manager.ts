/** The operations of both cgroup drivers, and the driver cgroupfs, which only uses files (upstream pkg/kubelet/cm/cgroup_manager_linux.go). */
import type { CgroupName, CgroupDriver } from '../../../shared/cgroups/cgroup-names.ts';
import { cgroupPath } from '../../../shared/cgroups/cgroup-names.ts';
import type { CgroupResources } from '../../../shared/cgroups/cgroup-values.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { toCgroupFiles } from './cgroup-files.ts';
import type { CgroupTree } from './cgroup-tree.ts';

export interface CgroupManager {
  readonly driver: CgroupDriver;
  /**
   * Creates the cgroup unless it exists, and sets its values. Values that the kernel refuses are logged, as upstream: a pod with a looser limit is
   * better than no pod.
   */
  create(name: CgroupName, resources: CgroupResources): Promise<void>;
  /** Sets values of an existing cgroup. Rejects when a value is refused. */
  update(name: CgroupName, resources: CgroupResources): Promise<void>;
  /** Kills the processes in the cgroup and removes it. Succeeds when it does not exist. Rejects when it is still busy after some seconds. */
  remove(name: CgroupName, signal: AbortSignal): Promise<void>;
  /** Closes the connection to systemd, if there is one. */
  close(): void;
}

export interface CgroupManagerOptions {
  readonly tree: CgroupTree;
  readonly version: 1 | 2;
  /** The page sizes of this host, such as `2MB`. */
  readonly hugePageSizes: readonly string[];
  readonly logger: Logger;
}

export class CgroupfsManager implements CgroupManager {
  readonly driver = 'cgroupfs';
  readonly #options: CgroupManagerOptions;

  constructor(options: CgroupManagerOptions) {
    this.#options = options;
  }

  async create(name: CgroupName, resources: CgroupResources): Promise<void> {
    await this.#options.tree.create(cgroupPath(name, 'cgroupfs'));
    await writeOrLog(this.#options, cgroupPath(name, 'cgroupfs'), resources);
  }

  async update(name: CgroupName, resources: CgroupResources): Promise<void> {
    await writeAll(this.#options, cgroupPath(name, 'cgroupfs'), resources);
  }

  remove(name: CgroupName, signal: AbortSignal): Promise<void> {
    return this.#options.tree.remove(cgroupPath(name, 'cgroupfs'), signal);
  }

  close(): void {}
}

/** Writes all values, and throws the first refusal. */
export async function writeAll(options: CgroupManagerOptions, path: string, resources: CgroupResources): Promise<void> {
  const { tree, version, hugePageSizes } = options;
  const refused = await tree.write(path, toCgroupFiles(resources, version, hugePageSizes));
  if (refused[0]) throw new Error(`cannot write ${refused[0].value} to ${refused[0].file}`, { cause: refused[0].err });
}

/** Writes all values, and logs each refusal. */
export async function writeOrLog(options: CgroupManagerOptions, path: string, resources: CgroupResources): Promise<void> {
  const { tree, version, hugePageSizes, logger } = options;
  for (const refused of await tree.write(path, toCgroupFiles(resources, version, hugePageSizes))) {
    logger.warn({ ...refused }, 'cannot set a value of a cgroup');
  }
}
