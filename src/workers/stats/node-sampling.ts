/** Samples the usage of the node once per housekeeping period, and when main asks for it. Created by the entry of the thread. */
import { SharedFetch } from '../../shared/concurrency/shared-fetch.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { readRlimit } from '../../shared/linux/read-rlimit.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Heartbeat } from '../../shared/state/start-heartbeat.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { MachineSampler } from './machine-sampler.ts';
import type { NodeFilesystems } from './node-filesystems.ts';
import type { OomWatcher } from './oom/oom-watcher.ts';
import type { PodCgroupWatch } from './pod-cgroup-watch.ts';
import type { RootFilesystem } from './root-filesystem.ts';
import type { RuntimeStats } from './runtime-stats/runtime-stats.ts';
import type { UsageSampler } from './usage-sampler.ts';

export interface NodeSamplingOptions {
  readonly rootDir: string;
  readonly periodMs: number;
  /** Delays the first sample. */
  readonly firstSampleDelayMs: number;
  readonly sampler: Pick<UsageSampler, 'sample' | 'setTasks'>;
  readonly machine: Pick<MachineSampler, 'sample'>;
  readonly rootFilesystem: Pick<RootFilesystem, 'sample'>;
  readonly nodeFilesystems: Pick<NodeFilesystems, 'sample'>;
  readonly oomWatcher: Pick<OomWatcher, 'read'>;
  /** Undefined: pods have no cgroups of their own. */
  readonly podCgroups: Pick<PodCgroupWatch, 'ensure'> | undefined;
  /** Undefined: the cgroups are measured. */
  readonly runtimeStats: Pick<RuntimeStats, 'refresh'> | undefined;
  readonly heartbeat: Pick<Heartbeat, 'loop'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A statfs call takes microseconds, unless the filesystem hangs. */
const maxFilesystemWaitMs = 3000;

export class NodeSampling {
  readonly #options: NodeSamplingOptions;
  readonly #samples = new SharedFetch(() => this.#sample());

  constructor(options: NodeSamplingOptions) {
    this.#options = options;
  }

  /** Resolves after the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { periodMs, firstSampleDelayMs, podCgroups, machine, nodeFilesystems, heartbeat, clock, logger } = this.#options;
    let failing = false;
    await clock.sleep(Math.min(firstSampleDelayMs, periodMs), signal).catch(() => {});
    while (!signal.aborted) {
      try {
        podCgroups?.ensure();
        const { rows } = await this.#samples.get();
        await machine.sample();
        nodeFilesystems.sample().catch((err: unknown) => logger.warn({ err }, 'Failed to measure the filesystems of the node'));
        logger.debug({ rows }, 'Sampled the usage of pods');
        failing = false;
      } catch (err) {
        if (!failing) logger.error({ err, retryInMs: periodMs }, 'Sampling the usage of pods failed');
        failing = true;
      }
      heartbeat.loop();
      await clock.sleep(periodMs, signal).catch(() => {});
    }
  }

  /** Resolves when a sample that began after the call is in the tables, with the filesystem of the root directory unless that one hangs. */
  async sampleNow(): Promise<void> {
    const { filesystem } = await this.#samples.get();
    await withTimeout(maxFilesystemWaitMs, filesystem);
  }

  /** Returns the number of cgroups. Also begins to measure the root directory's filesystem. */
  async #sample(): Promise<{ readonly rows: number; readonly filesystem: Promise<void> }> {
    const { rootDir, sampler, rootFilesystem, oomWatcher, runtimeStats, clock, logger } = this.#options;
    void runtimeStats?.refresh();
    // Must precede the sample, which stores the counts of kills and forgets cgroups that are gone.
    oomWatcher.read();
    const filesystem = rootFilesystem
      .sample()
      .catch((err: unknown) => logger.warn({ err, rootDir }, 'Failed to measure the filesystem of the root directory'));
    const { tasks = NaN, maxPID = NaN } = readRlimit();
    sampler.setTasks({ readAtMs: clock.now(), running: tasks, max: maxPID });
    return { rows: await sampler.sample(), filesystem };
  }
}
