/**
 * Gets the usage that the runtime itself measures (gate PodAndContainerStatsFromCRI): the usage of sandboxes and containers, even without a cgroup on this
 * host, and metrics for /metrics/cadvisor. Cgroups provide what the runtime does not implement. Owns a connection to the
 * runtime. Created by the stats thread, whose sampler reads the last reply and never waits for a call.
 */
import type { CriClient } from '../../../shared/cri/client.ts';
import { isUnimplemented } from '../../../shared/cri/cri-error.ts';
import type { MetricDescriptor, PodSandboxStats } from '../../../shared/cri/generated/cri-v1.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { runtimeFamilies } from './runtime-metrics.ts';
import { toUsage, type RuntimeUsage } from './to-usage.ts';

/** Less than the ten seconds for which the server thread waits for the metrics (main-client.ts). */
const deadlineMs = 8000;
/** How long the last values of a runtime that no longer answers are shown: three samples. Then the values of the cgroups are shown. */
const maxAgeMs = 30_000;

export interface RuntimeStatsOptions {
  readonly runtime: Pick<CriClient['runtime'], 'call'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RuntimeStats {
  readonly #options: RuntimeStatsOptions;
  #lastReply: { readonly stats: readonly PodSandboxStats[]; readonly atMs: number } | undefined;
  #isReading = false;
  /** The error that was logged last. A call that succeeds clears it. */
  #lastLoggedError = '';
  #descriptors: readonly MetricDescriptor[] | undefined;

  constructor(options: RuntimeStatsOptions) {
    this.#options = options;
  }

  /** Begins a call, unless one still waits for its reply. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { runtime, clock } = this.#options;
    try {
      const { stats } = await runtime.call('listPodSandboxStats', { filter: {} }, { deadlineMs });
      this.#lastReply = { stats, atMs: clock.monotonic() };
      this.#lastLoggedError = '';
    } catch (err) {
      if (isUnimplemented(err)) this.#lastReply = undefined;
      this.#log(err);
    } finally {
      this.#isReading = false;
    }
  }

  /** Returns the last usage by `usageKey`. Empty when the runtime has not answered lately. */
  usage(items: ReadonlyMap<string, SnapshotItem>): ReadonlyMap<string, RuntimeUsage> {
    const lastReply = this.#lastReply;
    const isRecent = lastReply !== undefined && this.#options.clock.monotonic() - lastReply.atMs <= maxAgeMs;
    return isRecent ? toUsage(lastReply.stats, items) : new Map<string, RuntimeUsage>();
  }

  /** Returns the metrics of containers; undefined when the runtime has none. Rejects when the runtime does not answer in time. */
  async metrics(): Promise<MetricFamily[] | undefined> {
    const { runtime } = this.#options;
    try {
      this.#descriptors ??= (await runtime.call('listMetricDescriptors', {}, { deadlineMs: deadlineMs / 2 })).descriptors;
      const { podMetrics } = await runtime.call('listPodSandboxMetrics', {}, { deadlineMs: deadlineMs / 2 });
      return runtimeFamilies(this.#descriptors, podMetrics);
    } catch (err) {
      // A runtime that was updated may have other metrics.
      this.#descriptors = undefined;
      if (isUnimplemented(err)) return undefined;
      throw err;
    }
  }

  /** Logs each error once, because it may occur with each sample. */
  #log(err: unknown): void {
    const text = String(err);
    if (text === this.#lastLoggedError) return;
    this.#lastLoggedError = text;
    this.#options.logger.warn({ err }, 'The runtime has no stats of pods; those of the cgroups are used');
  }
}
