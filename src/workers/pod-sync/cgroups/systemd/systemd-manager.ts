/**
 * The driver systemd: each cgroup is a transient slice, which systemd keeps with its values when it reloads. Values that systemd does not know
 * are written to the kernel's files afterwards. Names and order are libcontainer's (github.com/opencontainers/cgroups/systemd).
 */
import { cgroupPath, type CgroupName } from '../../../../shared/linux/cgroup-names.ts';
import type { CgroupResources } from '../../../../shared/linux/cgroup-values.ts';
import { writeAll, writeOrLog, type CgroupManager, type CgroupManagerOptions } from '../cgroup-manager.ts';
import type { SystemdClient } from './systemd-client.ts';
import { roundedForSystemd, toUnitProperties, type UnitProperty } from './unit-properties.ts';

export type SystemdCalls = Pick<
  SystemdClient,
  'startTransientUnit' | 'setUnitProperties' | 'stopUnit' | 'resetFailedUnit' | 'version' | 'close'
>;

export class SystemdManager implements CgroupManager {
  readonly driver = 'systemd';
  readonly #options: CgroupManagerOptions;
  readonly #systemd: SystemdCalls;

  constructor(options: CgroupManagerOptions, systemd: SystemdCalls) {
    this.#options = options;
    this.#systemd = systemd;
  }

  /** The slice has its limits from its start, before a process can enter it. Rejects when systemd does not answer or refuses. */
  async create(name: CgroupName, resources: CgroupResources): Promise<void> {
    const { unit, parent, path } = toSlice(name);
    const values = await this.#properties(resources);
    const isNew = await this.#systemd.startTransientUnit(unit, [...sliceProperties(unit, parent, this.#options.version), ...values]);
    if (!isNew && values.length > 0) await this.#systemd.setUnitProperties(unit, values);
    await this.#options.tree.complete(path);
    await writeOrLog(this.#options, path, roundedForSystemd(resources));
  }

  async update(name: CgroupName, resources: CgroupResources): Promise<void> {
    const { unit, path } = toSlice(name);
    const values = await this.#properties(resources);
    if (values.length > 0) await this.#systemd.setUnitProperties(unit, values);
    await writeAll(this.#options, path, roundedForSystemd(resources));
  }

  /** Removes the folders also when systemd fails, and rejects with its error then. */
  async remove(name: CgroupName, signal: AbortSignal): Promise<void> {
    const { unit, path } = toSlice(name);
    this.#options.tree.killAll(path);
    const stopped = await Promise.allSettled([this.#stop(unit)]);
    await this.#options.tree.remove(path, signal);
    if (stopped[0].status === 'rejected') throw stopped[0].reason;
  }

  close(): void {
    this.#systemd.close();
  }

  async #stop(unit: string): Promise<void> {
    await this.#systemd.stopUnit(unit);
    await this.#systemd.resetFailedUnit(unit);
  }

  async #properties(resources: CgroupResources): Promise<UnitProperty[]> {
    return toUnitProperties(resources, this.#options.version, await this.#systemd.version());
  }
}

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
