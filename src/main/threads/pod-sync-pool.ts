/**
 * Main's half of the sync pool. Each thread runs hundreds of tasks at a time, because a sync mostly waits. When a thread dies, its tasks are sent
 * again: tasks are idempotent. A task that was in a thread at two deaths runs alone.
 */
import type { Piscina } from 'piscina';
import type { ListPodCgroupsResult, SyncCgroupsResult, SyncCgroupsTask } from '../../shared/contracts/pod-sync/cgroups.ts';
import type { MoveProcessesResult, MoveProcessesTask } from '../../shared/contracts/pod-sync/host-processes.ts';
import type { RunIPTablesResult, RunIPTablesTask } from '../../shared/contracts/pod-sync/iptables.ts';
import type { UpdateRuntimeConfigResult, UpdateRuntimeConfigTask } from '../../shared/contracts/pod-sync/runtime-config.ts';
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import { failedResult, type PodSyncResult } from '../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTask, PodSyncTaskReply } from '../../shared/contracts/pod-sync/task.ts';
import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { withJitter } from '../../shared/time/backoff.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import { currentTraceParent } from '../../shared/tracing/index.ts';
import { entryUrl } from './entry-url.ts';
import type { ThreadDependencies } from './start-thread.ts';
import { GrowingPool } from './growing-pool.ts';
import { QuarantinePool } from './quarantine-pool.ts';
import { podWeight } from './pod-weight.ts';
import { Suspects } from './suspects.ts';
import { WeightLimiter } from './weight-limiter.ts';
import { TaskChannel, type PodTask, type TaskHandlers } from './task-channel.ts';

export interface PodSyncRun {
  /** Rejects only when the pool is closed (KubeletError `ThreadClosed`). */
  readonly result: Promise<PodSyncResult>;
  /** Stops the task at its next consistent point. With `podEnds` the task does not wait for a sandbox that is being created, or for a resize. */
  stop(podEnds: boolean): void;
  shrinkGracePeriod(gracePeriodSeconds: number): void;
}

export interface PodSyncPoolOptions extends ThreadDependencies {
  readonly settings: PodSyncSettings;
  readonly clock?: Clock;
  /** For tests: the entry of another worker. */
  readonly entry?: URL;
  /** The number of threads at rest. Default: 1. */
  readonly minThreads?: number;
}

/**
 * Threads die rarely. The limit bounds what a task that kills its thread can do, such as a manifest. A pod's task fails earlier: with the death of
 * a thread in which it ran alone (quarantine-pool.ts).
 */
const maxSends = 4;
const resendDelayMs = 50;
const closeDeadlineMs = 2_000;

/** The pool's largest number of threads for a node's number of cores: at least two, since one may be busy; at most eight, more than a runtime can use. */
export function defaultPodSyncThreads(cores: number): number {
  return Math.min(8, Math.max(2, Math.floor(cores / 2)));
}

export class PodSyncPool {
  readonly #pool: GrowingPool;
  readonly #quarantine: QuarantinePool;
  readonly #suspects = new Suspects();
  readonly #weights: WeightLimiter;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #closed = false;
  /** One function for each task under way, which rejects the task. */
  readonly #pending = new Set<(err: KubeletError) => void>();

  private constructor({ state, logger, settings, clock = systemClock, entry = entryUrl('pod-sync'), minThreads = 1 }: PodSyncPoolOptions) {
    const { podSyncThreads: maxThreads, threadStatuses, watchdog } = state;
    this.#logger = logger;
    this.#clock = clock;
    const workerData = state.podSyncWorkerData(settings);
    const options = { entry, workerData, threadStatuses, watchdog, logger, clock };
    this.#pool = new GrowingPool({ ...options, minThreads: Math.min(minThreads, maxThreads), maxThreads });
    this.#quarantine = new QuarantinePool(options);
    this.#weights = new WeightLimiter(clock);
  }

  static start(options: PodSyncPoolOptions): PodSyncPool {
    return new PodSyncPool(options);
  }

  /**
   * Lets each thread create its dependencies before its first task. Call this when the runtime has reported its cgroup driver. Never throws.
   */
  prepare(): void {
    this.#pool.prepare();
  }

  /** The number of tasks under way or queued, including those of `decodeManifest`. */
  get pending(): number {
    return this.#pending.size + this.#weights.waiting;
  }

  /** Runs one task on the least busy thread; the handlers get its requests and notifications. Sends the task again when its thread dies. */
  run(task: PodTask, handlers: TaskHandlers): PodSyncRun {
    const traceParent = currentTraceParent();
    let channel: TaskChannel | null = null;
    let stopped: { readonly podEnds: boolean } | null = null;
    let gracePeriodSeconds: number | null = null;
    const stop = new AbortController();
    const sendOnce = async (pool: Piscina): Promise<PodSyncResult> => {
      channel = new TaskChannel(task, handlers, this.#logger);
      // Repeats commands that were sent to a thread which has died.
      if (gracePeriodSeconds !== null) channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      if (stopped) channel.stop(stopped.podEnds);
      const sentChannel = channel;
      let reply: PodSyncTaskReply | undefined;
      try {
        const message: PodSyncTask & { hasSandboxPermit: boolean } = {
          ...task,
          ...(traceParent !== undefined && { traceParent }),
          channel: sentChannel.port,
          hasSandboxPermit: sentChannel.hasSandboxPermit,
        };
        // Piscina takes the type of this list from the wrong overload of postMessage.
        const transferList = [sentChannel.port] as never;
        reply = (await pool.run(message, { transferList })) as PodSyncTaskReply;
        return reply.result;
      } finally {
        sentChannel.close(reply?.notifications);
        channel = null;
      }
    };
    return {
      result: this.#runWithinWeightLimit(task, sendOnce, stop.signal).catch((err: unknown): PodSyncResult => {
        if (this.#closed) throw err;
        if (err === stop.signal.reason) return stoppedResult;
        return failedResult(err, { reason: 'SyncThreadLost', backoffs: task.kind === 'sync' ? task.backoffs : [] });
      }),
      stop: (podEnds) => {
        stopped = { podEnds: podEnds || (stopped?.podEnds ?? false) };
        stop.abort(stoppedError);
        channel?.stop(stopped.podEnds);
      },
      shrinkGracePeriod: (seconds) => {
        gracePeriodSeconds = Math.min(seconds, gracePeriodSeconds ?? Infinity);
        channel?.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      },
    };
  }

  /** Parses a manifest in the pool. A manifest that kills every thread it is sent to counts as unreadable. */
  async decodeManifest(task: DecodeManifestTask): Promise<DecodeManifestResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'decodeManifest' })) as DecodeManifestResult;
    return this.#sendUntilDone(`decoding ${task.origin}`, sendOnce).catch((err: unknown): DecodeManifestResult => {
      if (this.#closed) throw err;
      return { pods: [], errors: [`${task.origin}: ${messageOf(err)}`], readable: false };
    });
  }

  /** Sets the values of cgroups that belong to no pod. Rejects when the pool is closed or the task was lost too often. */
  syncCgroups(task: SyncCgroupsTask): Promise<SyncCgroupsResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'syncCgroups' })) as SyncCgroupsResult;
    return this.#sendUntilDone('setting cgroups', sendOnce);
  }

  /** Lists the pods that have a cgroup. Rejects like `syncCgroups`. */
  listPodCgroups(): Promise<ListPodCgroupsResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(undefined, { name: 'listPodCgroups' })) as ListPodCgroupsResult;
    return this.#sendUntilDone('listing the cgroups of pods', sendOnce);
  }

  /** Moves processes of the host into their cgroups. Rejects like `syncCgroups`. */
  moveProcesses(task: MoveProcessesTask): Promise<MoveProcessesResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'moveProcesses' })) as MoveProcessesResult;
    return this.#sendUntilDone('moving processes', sendOnce);
  }

  /** Runs one command of iptables. Rejects like `syncCgroups`. */
  runIPTables(task: RunIPTablesTask): Promise<RunIPTablesResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'runIPTables' })) as RunIPTablesResult;
    return this.#sendUntilDone('running iptables', sendOnce);
  }

  /** Changes the runtime's own configuration. Rejects like `syncCgroups`. */
  updateRuntimeConfig(task: UpdateRuntimeConfigTask): Promise<UpdateRuntimeConfigResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'updateRuntimeConfig' })) as UpdateRuntimeConfigResult;
    return this.#sendUntilDone('updating the runtime’s configuration', sendOnce);
  }

  /** Terminates the threads and rejects the tasks under way. Callers that need the results wait for them first. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const err = new KubeletError('ThreadClosed', 'the sync pool is closed');
    for (const reject of this.#pending) reject(err);
    this.#weights.close(err);
    this.#pool.close();
    const timeout = new AbortController();
    const deadline = this.#clock.sleep(closeDeadlineMs, timeout.signal);
    // A thread that is terminated while it loads an addon aborts the process (shared/linux/native.ts).
    await Promise.race([this.#pool.preparing, deadline]);
    await Promise.race([Promise.all([this.#pool.destroy(), this.#quarantine.destroy()]), deadline]).finally(() => timeout.abort());
  }

  /** Terminates a thread as a fault would, by its index in the pool. For tests. */
  async kill(index: number): Promise<void> {
    await this.#pool.threads[index]?.terminate();
  }

  /** Lets a task of a large pod wait for the WeightLimiter. A task that is stopped while it waits rejects with the signal's reason. */
  async #runWithinWeightLimit(
    task: PodTask,
    sendOnce: (pool: Piscina) => Promise<PodSyncResult>,
    signal: AbortSignal,
  ): Promise<PodSyncResult> {
    const admission = 'pod' in task && task.pod ? this.#weights.enter(podWeight(task.pod), signal) : null;
    if (!admission) return this.#runUntilDone(task, sendOnce);
    if (this.#closed) throw new KubeletError('ThreadClosed', 'the sync pool is closed');
    const leave = await admission;
    try {
      return await this.#runUntilDone(task, sendOnce);
    } finally {
      leave();
    }
  }

  async #runUntilDone({ kind, podUID }: PodTask, sendOnce: (pool: Piscina) => Promise<PodSyncResult>): Promise<PodSyncResult> {
    const suspects = this.#suspects;
    const result = await this.#sendUntilDone(`the ${kind} task of pod ${podUID}`, sendOnce, {
      isSuspect: () => suspects.isSuspect(podUID),
      onLost: () => {
        if (suspects.recordDeath(podUID))
          this.#logger.warn(
            { podUID, task: kind },
            'A task was in a thread at two deaths; the tasks of its pod run alone until one ends well',
          );
      },
    });
    suspects.clear(podUID);
    return result;
  }

  async #sendUntilDone<T>(
    description: string,
    sendOnce: (pool: Piscina) => Promise<T>,
    { isSuspect, onLost }: LossHandling = { isSuspect: () => false, onLost: () => {} },
  ): Promise<T> {
    const closed = Promise.withResolvers<never>();
    closed.promise.catch(() => {});
    if (this.#closed) throw new KubeletError('ThreadClosed', 'the sync pool is closed');
    this.#pending.add(closed.reject);
    try {
      for (let sends = 1; ; sends += 1) {
        let isBlamed = false;
        const sending = isSuspect() ? this.#quarantine.run(sendOnce, () => (isBlamed = true)) : this.#pool.run(sendOnce);
        try {
          return await Promise.race([sending, closed.promise]);
        } catch (err) {
          sending.catch(() => {});
          if (this.#closed || isFinal(err)) throw err;
          onLost();
          if (isBlamed || sends >= maxSends) throw err;
          this.#logger.debug({ task: description, err, sends }, 'a task was lost with its thread; it is sent again');
          await Promise.race([this.#clock.sleep(withJitter(resendDelayMs * 2 ** (sends - 1), 0.5)), closed.promise]);
        }
      }
    } finally {
      this.#pending.delete(closed.reject);
    }
  }
}

const stoppedError = new KubeletError('Stopped', 'the task was stopped before it began');
const stoppedResult: PodSyncResult = { outcome: 'stopped', waiting: {}, backoffs: [], changedRuntime: false };

interface LossHandling {
  /** Whether the task runs in quarantine. Its loss there is final if it is to blame. */
  readonly isSuspect: () => boolean;
  /** Called when the task was lost with its thread. */
  readonly onLost: () => void;
}

/** True if sending the task again would fail in the same way. */
function isFinal(err: unknown): boolean {
  return err instanceof Error && (err.name === 'DataCloneError' || /task queue is at limit/i.test(err.message));
}
