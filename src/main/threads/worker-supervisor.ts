/**
 * Supervises worker threads: records each start and exit in the thread statuses, has the watchdog terminate a thread that hangs, logs deaths and
 * delays restarts. Used for a thread that main starts itself (thread.ts) and for the sync pool, whose threads piscina starts (pool-supervisor.ts).
 */
import type { Worker } from 'node:worker_threads';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { ThreadStatusWriter } from '../../shared/state/heartbeats.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import type { HangWatchdog } from './hang-watchdog.ts';
import { computeRestart, type RestartHistory } from './restart-delay.ts';

export interface WorkerSupervisorOptions {
  readonly threadStatuses: ThreadStatusWriter;
  readonly watchdog?: HangWatchdog | undefined;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  /** Returns 0 to 1, for jitter. */
  readonly random?: (() => number) | undefined;
}

export interface WorkerExit {
  readonly exitCode: number;
  /** Undefined when the worker exited without an error. */
  readonly cause: Error | undefined;
}

/** Terminates a worker as a fault would. `reason` becomes the cause of its exit. */
export type TerminateWorker = (reason: string) => void;

export class WorkerSupervisor {
  readonly #threadStatuses: ThreadStatusWriter;
  readonly #watchdog: HangWatchdog | undefined;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** By heartbeat row: removes the row from the watchdog. */
  readonly #unwatch = new Map<number, () => void>();
  #history: RestartHistory = { earlyDeaths: 0 };
  #cancelRestart: () => void = () => {};
  #closing = false;

  constructor({ threadStatuses, watchdog, logger, clock = systemClock, random = Math.random }: WorkerSupervisorOptions) {
    this.#threadStatuses = threadStatuses;
    this.#watchdog = watchdog;
    this.#logger = logger;
    this.#clock = clock;
    this.#random = random;
  }

  /** Calls back once, with the worker's exit. */
  onExit(worker: Worker, callback: (exit: WorkerExit) => void): TerminateWorker {
    let cause: Error | undefined;
    worker.on('error', (err: unknown) => (cause = err instanceof Error ? err : new Error(String(err))));
    worker.once('exit', (exitCode) => callback({ exitCode, cause }));
    return (reason) => {
      cause ??= new Error(reason);
      void worker.terminate();
    };
  }

  /** Records the start of the thread in this heartbeat row. The watchdog uses `terminate` when the thread hangs. */
  recordStart(row: number, atMs: number, terminate: TerminateWorker): void {
    this.#threadStatuses.started(row, atMs);
    if (this.#watchdog && !this.#closing) this.#unwatch.set(row, this.#watchdog.follow(row, terminate));
  }

  /** Records the exit of a thread, and logs it unless the supervisor is closed. `row` is null for a thread that never took a row. */
  recordExit(thread: string, row: number | null, { exitCode, cause }: WorkerExit, fields: object = {}): void {
    if (row !== null) {
      this.#unwatch.get(row)?.();
      this.#unwatch.delete(row);
      if (this.#closing) this.#threadStatuses.stopped(row);
      else this.#threadStatuses.died(row, exitCode, cause ? messageOf(cause) : '');
    }
    if (!this.#closing) this.#logger.error({ thread, exitCode, err: cause, ...fields }, 'thread died; it will be started again');
  }

  /**
   * Calls `start` after the delay for a thread that ran for `uptimeMs`, and returns the delay in ms. A start that throws (the host has no more
   * threads) is retried.
   */
  scheduleRestart(thread: string, uptimeMs: number, start: () => void): number {
    const { history, delayMs } = computeRestart(this.#history, uptimeMs, this.#random);
    this.#history = history;
    this.#cancelRestart();
    this.#cancelRestart = this.#clock.after(delayMs, () => {
      try {
        start();
      } catch (err) {
        const restartInMs = this.scheduleRestart(thread, 0, start);
        this.#logger.error({ thread, err, restartInMs }, 'thread could not be started; it will be tried again');
      }
    });
    return Math.round(delayMs);
  }

  /** Ends the supervision: a later exit is no death. Cancels the restart, and removes the threads from the watchdog. */
  close(): void {
    this.#closing = true;
    this.#cancelRestart();
    for (const unfollow of this.#unwatch.values()) unfollow();
    this.#unwatch.clear();
  }
}
