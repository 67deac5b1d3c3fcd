/**
 * Asks the runtime for the usage of containers without a cgroup on this host (CRI ListContainerStats): containers in virtual machines, and all containers
 * without `cgroupsPerQOS`. Each sample makes one call, or none on a node without such containers. Created by the stats thread, whose sampler reads the last
 * reply and never waits for a call.
 */
import type { CriClient } from '../../../shared/cri/client.ts';
import { isUnimplemented } from '../../../shared/cri/cri-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { UsageValues } from '../../../shared/state/usage-table.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { containerValues } from './to-usage.ts';

/** Shorter than the ten seconds between two samples. */
const deadlineMs = 8000;
/** How long the last values of a runtime that no longer answers are shown: three samples. */
const maxAgeMs = 30_000;
/** A runtime that does not implement the call may be replaced by one that does. */
const retryUnimplementedMs = 600_000;

export interface ContainerStatsOptions {
  /** Called when the first call is made. */
  readonly connect: () => Promise<Pick<CriClient['runtime'], 'call'>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RuntimeContainerStats {
  readonly #options: ContainerStatsOptions;
  #runtime: ReturnType<ContainerStatsOptions['connect']> | undefined;
  #lastReply: { readonly values: ReadonlyMap<string, Partial<UsageValues>>; readonly atMs: number } | undefined;
  #isReading = false;
  #notBeforeMs = -Infinity;
  /** The error that was logged last. A call that succeeds clears it. */
  #lastLoggedError = '';

  constructor(options: ContainerStatsOptions) {
    this.#options = options;
  }

  /** Returns the values of the last reply, and begins a call. */
  of(ids: readonly string[]): ReadonlyMap<string, Partial<UsageValues>> {
    const lastReply = this.#lastReply;
    const nowMs = this.#options.clock.monotonic();
    if (ids.length > 0 && nowMs >= this.#notBeforeMs) void this.refresh(new Set(ids));
    return lastReply && nowMs - lastReply.atMs <= maxAgeMs ? lastReply.values : new Map<string, Partial<UsageValues>>();
  }

  /** Never rejects. Does nothing while a call still waits for its reply. */
  async refresh(ids: ReadonlySet<string>): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { connect, clock, logger } = this.#options;
    try {
      const runtime = await (this.#runtime ??= connect());
      const { stats } = await runtime.call('listContainerStats', { filter: {} }, { deadlineMs });
      const measured = stats.filter(({ attributes, memory }) => ids.has(attributes?.id ?? '') && memory?.workingSetBytes);
      this.#lastReply = { values: new Map(measured.map((each) => [each.attributes!.id, containerValues(each)])), atMs: clock.monotonic() };
      this.#lastLoggedError = '';
    } catch (err) {
      if (isUnimplemented(err)) this.#notBeforeMs = clock.monotonic() + retryUnimplementedMs;
      if (String(err) !== this.#lastLoggedError) logger.warn({ err }, 'The runtime has no stats of containers without a cgroup');
      this.#lastLoggedError = String(err);
    } finally {
      this.#isReading = false;
    }
  }
}
