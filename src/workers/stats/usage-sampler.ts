/**
 * Samples the usage of each pod and container from the cgroup tree into the usage table, once per housekeeping period. Updates existing rows, and frees the
 * rows of cgroups that are gone. The only writer of the table.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { RuntimeSnapshotReader } from '../../shared/state/runtime-snapshot.ts';
import { TableFullError, type TableWriter } from '../../shared/state/typed-table.ts';
import { usageTable, type UsageRow } from '../../shared/state/usage-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { readCgroupUsage } from './cgroup-usage.ts';
import { findPodCgroups, type PodCgroupsOptions } from './find-pod-cgroups.ts';

export interface UsageSamplerOptions extends Omit<PodCgroupsOptions, 'driver'> {
  readonly driver: () => PodCgroupsOptions['driver'];
  readonly usage: SharedArrayBuffer;
  readonly snapshot: SharedArrayBuffer;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reading this many cgroups takes about a millisecond. Then the sampler yields to the event loop. */
const cgroupsPerIteration = 25;

type Identity = Pick<UsageRow, 'podUID' | 'containerName' | 'containerID'>;

export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  readonly #table: TableWriter<(typeof usageTable)['layout']['fields']>;
  readonly #snapshot: RuntimeSnapshotReader;
  /** Row numbers by pod and container, including the rows of a predecessor. */
  readonly #rows = new Map<string, number>();
  #isTableFull = false;

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
    this.#table = usageTable.writer(options.usage);
    this.#snapshot = new RuntimeSnapshotReader(options.snapshot);
    for (const [row, identity] of this.#table.rows()) this.#rows.set(keyOf(identity), row);
  }

  /** Samples everything once. Resolves with the number of rows. */
  async sample(): Promise<number> {
    const names = this.#containerNames();
    const sampledKeys = new Set<string>();
    let cgroupsRead = 0;
    for (const { podUID, path, containers } of findPodCgroups({ ...this.#options, driver: this.#options.driver() })) {
      this.#store({ podUID: podUID as PodUID, containerName: '', containerID: '' }, path, sampledKeys);
      for (const { id, path: containerPath } of containers) {
        const containerName = names.get(id);
        // Skips sandboxes, and containers that the pleg thread has not listed yet.
        if (containerName !== undefined) {
          this.#store({ podUID: podUID as PodUID, containerName, containerID: id as ContainerID }, containerPath, sampledKeys);
        }
      }
      cgroupsRead += 1 + containers.length;
      if (cgroupsRead >= cgroupsPerIteration) {
        cgroupsRead = 0;
        await nextIteration();
      }
    }
    for (const [key, row] of this.#rows) {
      if (sampledKeys.has(key)) continue;
      this.#table.free(row);
      this.#rows.delete(key);
    }
    return this.#rows.size;
  }

  #store(identity: Identity, path: string, sampledKeys: Set<string>): void {
    const usage = readCgroupUsage(this.#options.hierarchy, path);
    if (!usage) return;
    const key = keyOf(identity);
    const row = this.#rows.get(key);
    const values: UsageRow = { ...identity, ...usage, sampledAtMs: this.#options.clock.now() };
    try {
      if (row === undefined) this.#rows.set(key, this.#table.insert(values));
      else this.#table.put(row, values);
      sampledKeys.add(key);
    } catch (err) {
      if (!(err instanceof TableFullError || err instanceof RangeError)) throw err;
      if (!this.#isTableFull)
        this.#options.logger.warn(
          { err, podUID: identity.podUID, cgroup: path },
          "A pod's usage cannot be stored; others may be missing too",
        );
      this.#isTableFull = true;
    }
  }

  /** The names of the runtime's containers by ID. */
  #containerNames(): Map<string, string> {
    const names = new Map<string, string>();
    for (const item of this.#snapshot.all()) if (item.kind === 'container') names.set(item.id, item.containerName);
    return names;
  }
}

function keyOf({ podUID, containerID }: Identity): string {
  return `${podUID}/${containerID}`;
}
