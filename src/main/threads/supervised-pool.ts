/**
 * Threads of the sync pool, in a piscina that is replaced when it loses threads: piscina does not replace a thread that dies before it was ready.
 * The new pool gets all new tasks; the old one is retired, and destroyed with its last task.
 */
import { Piscina } from 'piscina';
import { fileURLToPath } from 'node:url';
import type { PodSyncWorkerData } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { threadEnvironment } from './entry-url.ts';
import type { HangWatchdog } from './hang-watchdog.ts';
import type { ThreadStatusWriter } from '../../shared/state/heartbeats.ts';
import { PoolSupervisor } from './pool-supervisor.ts';

export interface SupervisedPoolOptions {
  readonly entry: URL;
  readonly workerData: PodSyncWorkerData;
  readonly threads: number;
  readonly threadStatuses: ThreadStatusWriter;
  readonly watchdog: HangWatchdog;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Parsing a manifest of 10 MB takes many times its size. A sync takes little. */
const resourceLimits = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 8 };
/** A sync mostly waits, so a thread can run hundreds. */
const concurrentTasksPerWorker = 500;
/** Piscina queues tasks above the capacity of its threads. Main has at most one task per pod. */
const maxQueue = 20_000;
/**
 * Piscina tries `require` before `import`. A thread that is terminated while it requires an ES module aborts the process (Node 26: an
 * assertion of CreateRequiredModuleFacade).
 */
const execArgv = ['--no-experimental-require-module'];

export class SupervisedPool {
  readonly #options: SupervisedPoolOptions;
  readonly #supervisor: PoolSupervisor;
  #current: Piscina;
  #startedAtMs = 0;
  readonly #retiredPools = new Set<Piscina>();
  /** The number of tasks of each pool. */
  readonly #tasks = new Map<Piscina, number>();
  #closed = false;

  constructor(options: SupervisedPoolOptions) {
    this.#options = options;
    this.#supervisor = new PoolSupervisor(options);
    this.#current = this.#createPool();
  }

  /** The pool that gets new tasks. */
  get current(): Piscina {
    return this.#current;
  }

  /** Runs a task on the current pool, and keeps that pool until the task has settled. */
  run<T>(send: (pool: Piscina) => Promise<T>): Promise<T> {
    const pool = this.#current;
    this.#changeTaskCount(pool, 1);
    return send(pool).finally(() => this.#changeTaskCount(pool, -1));
  }

  /** Ends the supervision: the exits that follow are no deaths, and no pool is replaced. */
  close(): void {
    this.#closed = true;
    this.#supervisor.close();
  }

  /** Terminates all threads. */
  async destroy(): Promise<void> {
    await Promise.all([this.#current, ...this.#retiredPools].map((pool) => this.#destroy(pool)));
  }

  #createPool(): Piscina {
    const { entry, workerData, threads, logger, clock } = this.#options;
    const options = {
      filename: fileURLToPath(entry),
      workerData,
      minThreads: threads,
      maxThreads: threads,
      idleTimeout: Infinity,
      concurrentTasksPerWorker,
      maxQueue,
      resourceLimits,
      execArgv,
      // Otherwise an idle worker blocks in Atomics.wait, and its gRPC connections with it.
      atomics: 'disabled',
      recordTiming: false,
      env: threadEnvironment as Record<string, string>,
    } as const;
    const pool = new Piscina(options);
    // An error of an idle thread. PoolSupervisor records and logs the thread's exit.
    pool.on('error', (err: unknown) => logger.debug({ err }, 'an idle thread of the sync pool failed'));
    this.#startedAtMs = clock.monotonic();
    this.#supervisor.follow(pool, () => this.#onExit(pool));
    return pool;
  }

  #onExit(pool: Piscina): void {
    const { threads, logger, clock } = this.#options;
    // The last thread of a retired pool is gone: its queued tasks fail, and are sent to the current pool.
    if (this.#retiredPools.has(pool) && pool.threads.length === 0) void this.#destroy(pool);
    if (this.#closed || this.#current !== pool || pool.threads.length >= threads) return;
    const restartInMs = this.#supervisor.scheduleReplacement(clock.monotonic() - this.#startedAtMs, () => {
      this.#current = this.#createPool();
      this.#retire(pool);
    });
    logger.warn(
      { threads: pool.threads.length, want: threads, restartInMs },
      'The sync pool lost a thread that piscina does not replace; a new pool will take over',
    );
  }

  /** Destroys a pool with its last task, or at once if it has no threads: its tasks are then sent to the current pool. */
  #retire(pool: Piscina): void {
    this.#retiredPools.add(pool);
    if (pool.threads.length === 0) void this.#destroy(pool);
    else this.#changeTaskCount(pool, 0);
  }

  #changeTaskCount(pool: Piscina, change: number): void {
    const tasks = (this.#tasks.get(pool) ?? 0) + change;
    this.#tasks.set(pool, tasks);
    if (tasks === 0 && this.#retiredPools.has(pool)) void this.#destroy(pool);
  }

  async #destroy(pool: Piscina): Promise<void> {
    this.#retiredPools.delete(pool);
    this.#tasks.delete(pool);
    await pool.destroy();
  }
}
