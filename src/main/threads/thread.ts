/**
 * One worker thread as main sees it: started, called, and started again when it dies. A Comlink call to a dead thread never
 * settles, so every call goes through here, and ends: by its answer, the thread's death or its deadline.
 *
 *   up ──error, exit, out of memory, hang──▶ down ──at once; later, when it keeps dying young──▶ up
 *   up, down ──close()──▶ closed
 */
import { wrap, type Remote } from 'comlink';
import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { ThreadStatusWriter } from '../../shared/state/heartbeats.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import type { HangWatchdog } from './hang-watchdog.ts';
import { afterDeath, type RestartHistory } from './restart-delay.ts';

export interface WorkerStart {
  /** Plain data, shared memory, and the ports of `transferList`. */
  readonly workerData: unknown;
  readonly transferList?: readonly Transferable[];
}

export interface ThreadOptions<Api> {
  readonly name: string;
  readonly entry: URL;
  /** Called at each birth: ports can't be used twice. */
  readonly onStart: () => WorkerStart;
  readonly resourceLimits: ResourceLimits;
  /** Where its life is kept for `/healthz`. */
  readonly threadStatuses: ThreadStatusWriter;
  readonly heartbeatRow: number;
  /** Ends the thread when it hangs. */
  readonly watchdog?: HangWatchdog;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
  /** What the thread does before it is ended by `close()`: finishes what it has accepted. */
  readonly finish?: (api: Remote<Api>) => Promise<void>;
  /** A successor was started: what it must be told again, main tells it now. Not called for the first birth. */
  readonly onRestarted?: () => void;
  /** Called when `close()` has ended the thread. */
  readonly onClosed?: () => void;
}

export interface CallLimits {
  /** Null: as long as it takes; the thread's death ends it still. */
  readonly deadlineMs?: number | null;
  /** For calls that may be made twice: asked again, once, of the successor of a thread that died of it or meanwhile. */
  readonly retry?: boolean;
}

const defaultDeadlineMs = 30_000;
/** A bound, not a target: this many calls mean that the thread has stopped answering. */
const maxCalls = 10_000;
const finishDeadlineMs = 2_000;

interface Incarnation<Api> {
  readonly worker: Worker;
  readonly api: Remote<Api>;
  readonly bornAtMs: number;
  /** Reject the calls that are under way. */
  readonly calls: Set<(err: KubeletError) => void>;
  error: Error | undefined;
}

export class Thread<Api> {
  readonly #options: ThreadOptions<Api>;
  readonly #clock: Clock;
  #life: Incarnation<Api> | null = null;
  #history: RestartHistory = { earlyDeaths: 0 };
  #cancelRestart: () => void = () => {};
  readonly #letBe: () => void;
  #closing: Promise<void> | null = null;
  /** Calls that wait for a successor. */
  readonly #waiting = new Set<{ resolve: (life: Incarnation<Api>) => void; reject: (err: KubeletError) => void }>();
  #calls = 0;

  constructor(options: ThreadOptions<Api>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#start();
    this.#letBe = options.watchdog?.follow(options.heartbeatRow, (why) => this.#end(why)) ?? (() => {});
  }

  get name(): string {
    return this.#options.name;
  }

  /** Node's number of the thread that lives now; undefined while there is none. */
  get threadId(): number | undefined {
    return this.#life?.worker.threadId;
  }

  /** Calls under way, and calls that wait for a successor. */
  get pendingCalls(): number {
    return this.#calls;
  }

  /**
   * Makes one call. Made while the thread is down, it waits for the successor. Rejects with KubeletError: `ThreadDied`,
   * `DeadlineExceeded`, `ThreadClosed`, `TooManyCalls`; or with what the thread threw (name and message only).
   */
  async call<T>(use: (api: Remote<Api>) => Promise<T>, limits: CallLimits = {}): Promise<T> {
    if (this.#calls >= maxCalls)
      throw new KubeletError('TooManyCalls', `${maxCalls} calls to the ${this.name} thread are under way already`);
    const { deadlineMs = defaultDeadlineMs, retry = false } = limits;
    const deadline = Promise.withResolvers<never>();
    deadline.promise.catch(() => {});
    const late = () =>
      deadline.reject(new KubeletError('DeadlineExceeded', `the ${this.name} thread did not answer within ${deadlineMs} ms`));
    const cancel = deadlineMs === null ? () => {} : this.#clock.after(deadlineMs, late);
    this.#calls += 1;
    try {
      return await this.#attempt(use, deadline.promise).catch((err: unknown) => {
        const mayAskAgain = retry && err instanceof KubeletError && err.reason === 'ThreadDied';
        return mayAskAgain ? this.#attempt(use, deadline.promise) : Promise.reject(err);
      });
    } finally {
      this.#calls -= 1;
      cancel();
    }
  }

  /** Ends the thread for good: it finishes first, within a bound. Calls that are under way then are rejected. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends the thread as a fault would: it is started again. For tests of that. */
  async kill(): Promise<void> {
    await this.#life?.worker.terminate();
  }

  #end(why: string): void {
    if (!this.#life) return;
    this.#life.error ??= new Error(why);
    void this.#life.worker.terminate();
  }

  async #attempt<T>(use: (api: Remote<Api>) => Promise<T>, deadline: Promise<never>): Promise<T> {
    const life = this.#life ?? (await this.#successor(deadline));
    const death = Promise.withResolvers<never>();
    life.calls.add(death.reject);
    try {
      return await Promise.race([use(life.api), death.promise, deadline]);
    } finally {
      life.calls.delete(death.reject);
    }
  }

  async #successor(deadline: Promise<never>): Promise<Incarnation<Api>> {
    if (this.#closing) throw this.#closedError();
    const waiter = Promise.withResolvers<Incarnation<Api>>();
    this.#waiting.add(waiter);
    try {
      return await Promise.race([waiter.promise, deadline]);
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  #start(): void {
    const { name, entry, onStart: onBirth, resourceLimits, threadStatuses: lives, heartbeatRow, logger } = this.#options;
    const { workerData, transferList = [] } = onBirth();
    const worker = new Worker(entry, { name, workerData, transferList: [...transferList], resourceLimits });
    const life: Incarnation<Api> = {
      worker,
      api: wrap<Api>(endpoint(worker)),
      bornAtMs: this.#clock.monotonic(),
      calls: new Set(),
      error: undefined,
    };
    worker.on('error', (err: unknown) => (life.error = err instanceof Error ? err : new Error(String(err))));
    worker.once('exit', (exitCode) => this.#ended(life, exitCode));
    this.#life = life;
    lives.started(heartbeatRow, life.bornAtMs);
    logger.debug({ thread: name, threadId: worker.threadId }, 'thread started');
    for (const { resolve } of this.#waiting) resolve(life);
  }

  #ended(life: Incarnation<Api>, exitCode: number): void {
    const { name, threadStatuses: lives, heartbeatRow, logger } = this.#options;
    this.#life = null;
    if (this.#closing) {
      lives.stopped(heartbeatRow);
      for (const reject of life.calls) reject(this.#closedError());
      return;
    }
    const cause = life.error;
    const lifetimeMs = this.#clock.monotonic() - life.bornAtMs;
    lives.died(heartbeatRow, exitCode, cause ? messageOf(cause) : '');
    const restartInMs = this.#startAgain(lifetimeMs);
    logger.error(
      { thread: name, exitCode, err: cause, lifetimeMs: Math.round(lifetimeMs), restartInMs },
      'thread died; it will be started again',
    );
    for (const reject of life.calls)
      reject(new KubeletError('ThreadDied', `the ${name} thread died with exit code ${exitCode}`, { cause }));
  }

  /** Sets the successor's start; answers with the delay. A start that fails (no more threads on this host) is tried again. */
  #startAgain(lifetimeMs: number): number {
    const { random = Math.random, onRestarted: onReborn, logger } = this.#options;
    const { history, delayMs } = afterDeath(this.#history, lifetimeMs, random);
    this.#history = history;
    this.#cancelRestart = this.#clock.after(delayMs, () => {
      try {
        this.#start();
      } catch (err) {
        const restartInMs = this.#startAgain(0);
        logger.error({ thread: this.name, err, restartInMs }, 'thread could not be started; it will be tried again');
        return;
      }
      onReborn?.();
    });
    return Math.round(delayMs);
  }

  async #close(): Promise<void> {
    this.#letBe();
    this.#cancelRestart();
    const life = this.#life;
    for (const { reject } of this.#waiting) reject(this.#closedError());
    if (life) await this.#finish(life);
    this.#options.onClosed?.();
  }

  async #finish(life: Incarnation<Api>): Promise<void> {
    const ended = new Promise<void>((resolve) => life.worker.once('exit', () => resolve()));
    const { finish, logger } = this.#options;
    if (finish) {
      const finished = this.call(finish, { deadlineMs: finishDeadlineMs });
      await finished.catch((err: unknown) => logger.warn({ thread: this.name, err }, 'thread did not finish in time; it is ended'));
    }
    await life.worker.terminate();
    await ended;
  }

  #closedError(): KubeletError {
    return new KubeletError('ThreadClosed', `the ${this.name} thread is closed`);
  }
}
