/**
 * The driver systemd: each cgroup is a transient slice, which systemd keeps with its values when it reloads. Values that systemd does not know
 * are written to the kernel's files afterwards. Names and order are libcontainer's (github.com/opencontainers/cgroups/systemd).
 */
import { cgroupPath, type CgroupName } from '../../../../shared/cgroups/cgroup-names.ts';
import type { CgroupResources } from '../../../../shared/cgroups/cgroup-values.ts';
import { writeAll, writeOrLog, type CgroupManager, type CgroupManagerOptions } from '../cgroup-manager.ts';
import type { SystemdClient } from './systemd-client.ts';
import { roundedForSystemd, toUnitProperties, type UnitProperty } from './unit-properties.ts';

export type SystemdCalls = Pick<
  SystemdClient,
  'startTransientUnit' | 'startUnit' | 'isStopping' | 'setUnitProperties' | 'stopUnit' | 'resetFailedUnit' | 'version' | 'close'
>;

/** Killing takes milliseconds, unless a container has made thousands of cgroups. */
const killDeadlineMs = 10_000;

export class SystemdManager implements CgroupManager {
  readonly driver = 'systemd';
  readonly #options: CgroupManagerOptions;
  readonly #systemd: SystemdCalls;

  constructor(options: CgroupManagerOptions, systemd: SystemdCalls) {
    this.#options = options;
    this.#systemd = systemd;
  }

  /** A new slice has its limits from its start. Rejects when systemd does not answer or refuses, and when there is no cgroup afterwards. */
  async create(name: CgroupName, resources: CgroupResources): Promise<void> {
    const { unit, parent, path } = toSlice(name);
    const { tree, version } = this.#options;
    const values = await this.#properties(resources);
    const properties = [...sliceProperties(unit, parent, version), ...values];
    if (!(await this.#systemd.startTransientUnit(unit, properties))) await this.#startExisting(unit, path, values);
    await tree.complete(path);
    if (!(await tree.existsInAnyHierarchy(path))) throw new Error(`systemd has started ${unit}, but there is no cgroup ${path}`);
    await writeOrLog(this.#options, path, roundedForSystemd(resources));
  }

  /**
   * Starts a slice that systemd has loaded already. The slice may be inactive: stopped, and still referenced. If it is active, the start changes nothing.
   *
   * An earlier kubelet may have requested its stop. Then systemd waits up to 90 s (TimeoutStopSec) for the slice's last process, and starts nothing in the
   * slice before that, even if the runtime, which starts the sandbox meanwhile, has replaced the stop job. So no new process can be in the slice, and
   * all its processes are killed to end the wait.
   */
  async #startExisting(unit: string, path: string, values: readonly UnitProperty[]): Promise<void> {
    if (await this.#systemd.isStopping(unit)) await this.#options.tree.killAll(path, AbortSignal.timeout(killDeadlineMs));
    if (values.length > 0) await this.#systemd.setUnitProperties(unit, values);
    await this.#systemd.startUnit(unit);
  }

  async update(name: CgroupName, resources: CgroupResources): Promise<void> {
    const { unit, path } = toSlice(name);
    const values = await this.#properties(resources);
    if (values.length > 0) await this.#systemd.setUnitProperties(unit, values);
    await writeAll(this.#options, path, roundedForSystemd(resources));
  }

  /** Rejects with systemd's error. The cgroup's folders then stay, so that the next attempt stops the unit again. */
  async remove(name: CgroupName, signal: AbortSignal): Promise<void> {
    const { unit, path } = toSlice(name);
    await this.#options.tree.killAll(path, signal);
    await this.#systemd.stopUnit(unit);
    await this.#systemd.resetFailedUnit(unit);
    await this.#options.tree.remove(path, signal);
  }

  close(): void {
    this.#systemd.close();
  }

  async #properties(resources: CgroupResources): Promise<UnitProperty[]> {
    return toUnitProperties(resources, this.#options.version, await this.#systemd.version());
  }
}

/** `-.slice` is systemd's root slice. */
function toSlice(name: CgroupName): { unit: string; parent: string; path: string } {
  const path = cgroupPath(name, 'systemd');
  const [unit = '-.slice', parent = '-.slice'] = path.split('/').filter(Boolean).toReversed();
  return { unit, parent, path };
}

function sliceProperties(unit: string, parent: string, version: 1 | 2): UnitProperty[] {
  return [
    ['Description', 's', `libcontainer container ${unit}`],
    ['Wants', 'as', [parent]],
    ['MemoryAccounting', 'b', true],
    ['CPUAccounting', 'b', true],
    [version === 1 ? 'BlockIOAccounting' : 'IOAccounting', 'b', true],
    ['TasksAccounting', 'b', true],
    ['DefaultDependencies', 'b', false],
  ];
}
