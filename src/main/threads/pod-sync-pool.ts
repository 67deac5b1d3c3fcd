/**
 * The sync pool: piscina's threads, each with hundreds of tasks, since a sync mostly waits. A thread that dies is replaced; the tasks
 * that were on it are sent again, which does no harm. A result never rejects for what a task did.
 */
import { Piscina } from 'piscina';
import { fileURLToPath } from 'node:url';
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import type { PodSyncResult } from '../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTask, PodSyncTaskReply } from '../../shared/contracts/pod-sync/task.ts';
import type { PodSyncWorkerData, PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { withJitter } from '../../shared/time/backoff.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import { entryUrl } from './entry-url.ts';
import { TaskChannel, type TaskHandlers, type PodTask } from './task-channel.ts';
import { PoolSupervisor } from './pool-supervisor.ts';
import { afterDeath, type RestartHistory } from './restart-delay.ts';
import type { ThreadDependencies } from './start-thread.ts';

export interface PodSyncRun {
  /** Settles always, unless the pool is closed (KubeletError `ThreadClosed`). */
  readonly result: Promise<PodSyncResult>;
  /** The task ends as soon as nothing is left half done. `podEnds`: without waiting for a sandbox that is being made. */
  stop(podEnds: boolean): void;
  shrinkGracePeriod(gracePeriodSeconds: number): void;
}

export interface PodSyncPoolOptions extends ThreadDependencies {
  readonly settings: PodSyncSettings;
  /** Absent: `answerWith` is called before the first task. */
  readonly handlers?: TaskHandlers;
  readonly clock?: Clock;
  /** For tests: another worker in the pool's place. */
  readonly entry?: URL;
}

/** A manifest of 10 MB takes many times its size while it is parsed; a sync takes little. */
const resourceLimits = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 8 };
const concurrentTasksPerWorker = 500;
/** Beyond these a task waits in line; main never has more than one for each pod. */
const maxQueue = 20_000;
/** Threads die rarely, and a task that kills its thread must not go on to kill the next for ever. */
const maxSends = 4;
const resendDelayMs = 50;
const closeDeadlineMs = 2_000;
/** Piscina tries `require` before `import`; a thread that is ended while it requires an ES module takes the process with it (Node 26: an assertion of CreateRequiredModuleFacade). */
const execArgv = ['--no-experimental-require-module'];
/** The pool's threads, for a node with so many cores: two at least (one may die), eight at most (more than a runtime can use). */
export function defaultPodSyncThreads(cores: number): number {
  return Math.min(8, Math.max(2, Math.floor(cores / 2)));
}

export class PodSyncPool {
  readonly #birth: PodSyncWorkerData;
  readonly #threads: number;
  readonly #entry: URL;
  #handlers: TaskHandlers | undefined;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #lives: PoolSupervisor;
  #pool: Piscina;
  #poolBornAtMs = 0;
  /** Pools that lost a thread for good: each ends with its last task. With the number of their tasks. */
  readonly #retired = new Set<Piscina>();
  readonly #tasks = new Map<Piscina, number>();
  #history: RestartHistory = { earlyDeaths: 0 };
  #cancelReplacement: () => void = () => {};
  #closed = false;
  /** Settles when no thread makes ready any more. */
  #readying: Promise<unknown> = Promise.resolve();
  readonly #open = new Set<(err: KubeletError) => void>();

  private constructor({ state, logger, settings, handlers, clock = systemClock, entry = entryUrl('pod-sync') }: PodSyncPoolOptions) {
    this.#birth = state.podSyncWorkerData(settings);
    this.#threads = state.podSyncThreads;
    this.#entry = entry;
    this.#handlers = handlers;
    this.#logger = logger;
    this.#clock = clock;
    this.#lives = new PoolSupervisor({ lives: state.threadStatuses, hangs: state.watchdog, birth: this.#birth, logger });
    this.#pool = this.#createPool();
  }

  static start(options: PodSyncPoolOptions): PodSyncPool {
    return new PodSyncPool(options);
  }

  /** Who answers what tasks ask for, from now on. */
  answerWith(handlers: TaskHandlers): void {
    this.#handlers = handlers;
  }

  /** The runtime has said how it is: each thread makes ready for its first task. Never throws; a thread that is made later does so with its first task. */
  getReady(): void {
    const pool = this.#pool;
    // As many at once as there are threads: each takes one.
    const all = Array.from({ length: this.#threads }, async () => pool.run(undefined, { name: 'getReady' }));
    for (const one of all) one.catch((err: unknown) => this.#logger.debug({ err }, 'a thread of the sync pool is not ready'));
    this.#readying = Promise.allSettled(all);
  }

  /** Tasks under way or waiting, those of decodeManifest included. */
  get pending(): number {
    return this.#open.size;
  }

  /** Runs one task, on whichever thread is least busy; sends it again when its thread dies. */
  run(task: PodTask): PodSyncRun {
    const handlers = this.#handlers;
    if (!handlers) throw new Error('nobody answers what tasks ask for yet');
    let line: TaskChannel | null = null;
    let stopped: { readonly podEnds: boolean } | null = null;
    let gracePeriodSeconds: number | null = null;
    const sendOnce = async (pool: Piscina): Promise<PodSyncResult> => {
      line = new TaskChannel(task, handlers, this.#logger);
      // Said before to a predecessor that died with it.
      if (gracePeriodSeconds !== null) line.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      if (stopped) line.stop(stopped.podEnds);
      const sent = line;
      let answer: PodSyncTaskReply | undefined;
      try {
        // Piscina's type for the list is read off the wrong overload of postMessage.
        const transferList = [sent.port] as never;
        const message: PodSyncTask & { hasSandboxPermit: boolean } = {
          ...task,
          channel: sent.port,
          hasSandboxPermit: sent.hasSandboxPermit,
        };
        answer = (await pool.run(message, { transferList })) as PodSyncTaskReply;
        return answer.result;
      } finally {
        sent.close(answer?.notifications);
        line = null;
      }
    };
    return {
      result: this.#sendUntilDone(`the ${task.kind} task of pod ${task.podUID}`, sendOnce).catch((err: unknown): PodSyncResult => {
        if (this.#closed) throw err;
        const failure = { reason: 'SyncThreadLost', message: messageOf(err) };
        return { outcome: 'failed', failure, waiting: {}, backoffs: task.kind === 'sync' ? task.backoffs : [], changedRuntime: true };
      }),
      stop: (podEnds) => {
        stopped = { podEnds: podEnds || (stopped?.podEnds ?? false) };
        line?.stop(stopped.podEnds);
      },
      shrinkGracePeriod: (seconds) => {
        gracePeriodSeconds = Math.min(seconds, gracePeriodSeconds ?? Infinity);
        line?.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      },
    };
  }

  /** Parses a manifest in the pool. A manifest that costs every thread that it meets its life is one that can't be read. */
  async decodeManifest(task: DecodeManifestTask): Promise<DecodeManifestResult> {
    const sendOnce = async (pool: Piscina) => (await pool.run(task, { name: 'decodeManifest' })) as DecodeManifestResult;
    return this.#sendUntilDone(`decoding ${task.origin}`, sendOnce).catch((err: unknown): DecodeManifestResult => {
      if (this.#closed) throw err;
      return { pods: [], errors: [`${task.origin}: ${messageOf(err)}`], readable: false };
    });
  }

  /** Ends the threads. Who waits for the end of the tasks does that before; what is still under way is rejected. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const err = new KubeletError('ThreadClosed', 'the sync pool is closed');
    for (const reject of this.#open) reject(err);
    this.#lives.close();
    this.#cancelReplacement();
    const late = new AbortController();
    const deadline = this.#clock.sleep(closeDeadlineMs, late.signal);
    // A thread that is ended while it loads an addon takes the process with it (shared/linux/native.ts).
    await Promise.race([this.#readying, deadline]);
    const ended = Promise.all([this.#pool, ...this.#retired].map((pool) => this.#destroy(pool)));
    await Promise.race([ended, deadline]).finally(() => late.abort());
  }

  /** Ends a thread as a fault would, by its place in the pool. For tests of that. */
  async kill(index: number): Promise<void> {
    await this.#pool.threads[index]?.terminate();
  }

  async #sendUntilDone<T>(what: string, sendOnce: (pool: Piscina) => Promise<T>): Promise<T> {
    const closed = Promise.withResolvers<never>();
    closed.promise.catch(() => {});
    if (this.#closed) throw new KubeletError('ThreadClosed', 'the sync pool is closed');
    this.#open.add(closed.reject);
    try {
      for (let sends = 1; ; sends += 1) {
        const pool = this.#pool;
        this.#count(pool, 1);
        const sent = sendOnce(pool).finally(() => this.#count(pool, -1));
        try {
          return await Promise.race([sent, closed.promise]);
        } catch (err) {
          sent.catch(() => {});
          if (this.#closed || isFinal(err) || sends >= maxSends) throw err;
          this.#logger.debug({ task: what, err, sends }, 'a task was lost with its thread; it is sent again');
          await Promise.race([this.#clock.sleep(withJitter(resendDelayMs * 2 ** (sends - 1), 0.5)), closed.promise]);
        }
      }
    } finally {
      this.#open.delete(closed.reject);
    }
  }

  #createPool(): Piscina {
    const options = {
      filename: fileURLToPath(this.#entry),
      workerData: this.#birth,
      minThreads: this.#threads,
      maxThreads: this.#threads,
      idleTimeout: Infinity,
      concurrentTasksPerWorker,
      maxQueue,
      resourceLimits,
      execArgv,
      // Otherwise an idle worker sleeps in Atomics.wait, and its gRPC connections with it.
      atomics: 'disabled',
      recordTiming: false,
    } as const;
    const pool = new Piscina(options);
    // An error of an idle thread; its death is seen, logged and counted by PoolLives.
    pool.on('error', (err: unknown) => this.#logger.debug({ err }, 'an idle thread of the sync pool failed'));
    this.#poolBornAtMs = this.#clock.monotonic();
    this.#lives.watch(pool, () => this.#replaceBroken(pool));
    return pool;
  }

  /** Piscina gives up a thread's place for good when one dies before it was ready. Then a new pool takes over. */
  #replaceBroken(pool: Piscina): void {
    // Its last thread is gone: who still waits in its queue is sent to the successor.
    if (this.#retired.has(pool) && pool.threads.length === 0) void this.#destroy(pool);
    if (this.#closed || this.#pool !== pool || pool.threads.length >= this.#threads) return;
    const { history, delayMs } = afterDeath(this.#history, this.#clock.monotonic() - this.#poolBornAtMs, Math.random);
    this.#history = history;
    const restartInMs = Math.round(delayMs);
    this.#logger.warn(
      { threads: pool.threads.length, want: this.#threads, restartInMs },
      'the sync pool lost a thread for good; a new pool takes over',
    );
    this.#cancelReplacement();
    this.#cancelReplacement = this.#clock.after(delayMs, () => {
      this.#pool = this.#createPool();
      this.#retire(pool);
    });
  }

  /** Lets a pool end with its last task; one without threads ends now, and its tasks are sent to the successor. */
  #retire(pool: Piscina): void {
    this.#retired.add(pool);
    if (pool.threads.length === 0) void this.#destroy(pool);
    else this.#count(pool, 0);
  }

  #count(pool: Piscina, change: number): void {
    const tasks = (this.#tasks.get(pool) ?? 0) + change;
    this.#tasks.set(pool, tasks);
    if (tasks === 0 && this.#retired.has(pool)) void this.#destroy(pool);
  }

  async #destroy(pool: Piscina): Promise<void> {
    this.#retired.delete(pool);
    this.#tasks.delete(pool);
    await pool.destroy();
  }
}

/** A task that can't be sent at all will not be at the next try either. */
function isFinal(err: unknown): boolean {
  return err instanceof Error && (err.name === 'DataCloneError' || /task queue is at limit/i.test(err.message));
}
