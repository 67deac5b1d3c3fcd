/**
 * Adds to the measured cgroups each running container or sandbox that has none, as in a virtual machine or without `cgroupsPerQOS`. Its usage comes from the
 * runtime, as does the usage of a container whose cgroup is empty. Its logs and network are measured in any case. Owned by the usage sampler.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';
import { unknownUsage, type CgroupIdentity, type UsageValues } from '../../../shared/state/usage-table.ts';
import { identityOfItem, usageKey, type RuntimeUsage } from './to-usage.ts';

export interface RuntimeUsageSources {
  /** Returns the usage that the runtime measures, by `usageKey`. It replaces the usage that the cgroups show. */
  readonly runtimeUsage?: (items: ReadonlyMap<string, SnapshotItem>) => ReadonlyMap<string, RuntimeUsage>;
  /** Returns the runtime's last measurement of these containers, without waiting. */
  readonly containerStats?: (ids: readonly string[]) => ReadonlyMap<string, Partial<UsageValues>>;
}

const noStats: ReadonlyMap<string, Partial<UsageValues>> = new Map();

export class WithoutCgroup {
  readonly #sources: RuntimeUsageSources;
  /** What the runtime has measured, by `usageKey`. */
  #usage: ReadonlyMap<string, RuntimeUsage> = new Map();
  /** What had no cgroup in the last sample, by `usageKey`. */
  #identities: ReadonlyMap<string, CgroupIdentity> = new Map();

  constructor(sources: RuntimeUsageSources) {
    this.#sources = sources;
  }

  /**
   * Returns the identities of pods, sandboxes and containers without a cgroup. An identity stays the same object from sample to sample.
   * @param items the running items of the runtime, by pod
   * @param found the cgroups
   * @param empty the IDs of containers in whose cgroup nothing has ever run: gVisor keeps all processes in the cgroup of the sandbox
   */
  find(
    items: ReadonlyMap<PodUID, readonly SnapshotItem[]>,
    found: readonly CgroupIdentity[],
    empty: ReadonlySet<string> = new Set(),
  ): CgroupIdentity[] {
    const { runtimeUsage, containerStats } = this.#sources;
    const byID = new Map([...items.values()].flat().map((item) => [item.id as string, item]));
    const measuredByRuntime = runtimeUsage?.(byID) ?? new Map<string, RuntimeUsage>();
    const knownKeys = new Set(found.map(usageKey));
    const missingItems = [...byID.values()].filter(({ id }) => !knownKeys.has(id) && !measuredByRuntime.has(id));
    // Only from the second sample on: a container may be about to end, or its cgroup about to appear.
    const idsToAsk = missingItems.filter(({ id, kind }) => kind === 'container' && this.#identities.has(id)).map(({ id }) => id as string);
    const inSandbox = [...empty].filter((id) => knownKeys.has(id) && byID.has(id) && !measuredByRuntime.has(id));
    idsToAsk.push(...inSandbox);
    const stats = idsToAsk.length > 0 && containerStats ? containerStats(idsToAsk) : noStats;
    const usageOfMissing = missingItems.map((item): [string, RuntimeUsage] => [
      item.id,
      { identity: identityOfItem(item, item.kind), values: stats.get(item.id) ?? unknownUsage },
    ]);
    const usageOfEmpty = inSandbox.map((id): [string, RuntimeUsage] => {
      const item = byID.get(id)!;
      return [id, { identity: identityOfItem(item, item.kind), values: withoutLimits(stats.get(id)) ?? unknownUsage }];
    });
    this.#usage = new Map([...measuredByRuntime, ...usageOfMissing, ...usageOfEmpty]);
    const others = [...this.#usage].filter(([key]) => !knownKeys.has(key));
    this.#identities = new Map(others.map(([key, { identity }]) => [key, this.#identities.get(key) ?? identity]));
    return [...this.#identities.values()];
  }

  /** Returns what the runtime has measured of a pod, a sandbox or a container, with or without a cgroup. */
  valuesOf(identity: CgroupIdentity): Partial<UsageValues> {
    return this.#usage.get(usageKey(identity))?.values ?? {};
  }
}

/** Drops the runtime's limits: the limits of the cgroup are shown instead. */
function withoutLimits(stats: Partial<UsageValues> | undefined): Partial<UsageValues> | undefined {
  if (!stats) return undefined;
  const { memoryLimitBytes: _memory, memorySwapLimitBytes: _swap, ...usage } = stats;
  return usage;
}
