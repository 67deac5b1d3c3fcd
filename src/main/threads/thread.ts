/**
 * One worker thread as main sees it: starts the worker, calls it, and restarts it when it dies. A Comlink call to a dead worker never settles, so
 * all calls go through this class, and end by their reply, the death of the worker or their deadline.
 *
 *   up ──error, exit, out of memory, hang──▶ down ──at once, or after a back-off──▶ up
 *   up, down ──close()──▶ closed
 */
import { wrap, type Remote } from 'comlink';
import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { isOrderedNotification } from '../../shared/thread/ordered-notification.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import { threadEnvironment } from './entry-url.ts';
import { receiveMessages } from './event-channel.ts';
import { WorkerSupervisor, type WorkerExit, type WorkerSupervisorOptions } from './worker-supervisor.ts';

export interface WorkerStart {
  /** Plain data, shared memory, and the ports of `transferList`. */
  readonly workerData: unknown;
  readonly transferList?: readonly Transferable[];
}

export interface ThreadOptions<Api> extends WorkerSupervisorOptions {
  readonly name: string;
  readonly entry: URL;
  /** Called at each start: a port can be transferred only once. */
  readonly onStart: () => WorkerStart;
  readonly resourceLimits: ResourceLimits;
  readonly heartbeatRow: number;
  /** The call that lets the thread finish its work, before `close()` terminates it. */
  readonly finish?: (api: Remote<Api>) => Promise<void>;
  /** Called with what the worker posts by `postNotification`, in order with the answers of the calls. */
  readonly onNotification?: (notification: unknown) => void;
  /** Called when `close()` has ended the thread. */
  readonly onClosed?: () => void;
}

export interface ThreadCallOptions {
  /** Null: no deadline; the call still ends when the worker dies. */
  readonly deadlineMs?: number | null;
  /** For idempotent calls: the call is made once more, to the successor of a worker that died. */
  readonly retry?: boolean;
}

const defaultDeadlineMs = 30_000;
/** A safety limit: this many pending calls mean that the thread does not answer any more. */
const maxCalls = 10_000;
/** How long `close` waits for `finish`. */
const finishDeadlineMs = 2_000;

interface RunningWorker<Api> {
  readonly worker: Worker;
  readonly api: Remote<Api>;
  readonly startedAtMs: number;
  /** Rejects the pending calls. */
  readonly calls: Set<(err: KubeletError) => void>;
}

export class Thread<Api> {
  readonly #options: ThreadOptions<Api>;
  readonly #clock: Clock;
  readonly #supervisor: WorkerSupervisor;
  #running: RunningWorker<Api> | null = null;
  #closing: Promise<void> | null = null;
  /** Calls that wait for the next worker. */
  readonly #waiting = new Set<{ resolve: (running: RunningWorker<Api>) => void; reject: (err: KubeletError) => void }>();
  #calls = 0;

  constructor(options: ThreadOptions<Api>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#supervisor = new WorkerSupervisor(options);
    this.#start();
  }

  get name(): string {
    return this.#options.name;
  }

  /** Node's ID of the running worker; undefined when the thread is down. */
  get threadId(): number | undefined {
    return this.#running?.worker.threadId;
  }

  /** The number of calls under way, including those that wait for the next worker. */
  get pendingCalls(): number {
    return this.#calls;
  }

  /**
   * Calls the thread. While the thread is down, the call waits for the next worker. Rejects with KubeletError: `ThreadDied`,
   * `DeadlineExceeded`, `ThreadClosed`, `TooManyCalls`; or with what the worker threw (name and message only).
   */
  async call<T>(use: (api: Remote<Api>) => Promise<T>, limits: ThreadCallOptions = {}): Promise<T> {
    if (this.#calls >= maxCalls)
      throw new KubeletError('TooManyCalls', `${maxCalls} calls to the ${this.name} thread are under way already`);
    const { deadlineMs = defaultDeadlineMs, retry = false } = limits;
    const deadline = Promise.withResolvers<never>();
    deadline.promise.catch(() => {});
    const onDeadline = () =>
      deadline.reject(new KubeletError('DeadlineExceeded', `the ${this.name} thread did not answer within ${deadlineMs} ms`));
    const cancel = deadlineMs === null ? () => {} : this.#clock.after(deadlineMs, onDeadline);
    this.#calls += 1;
    try {
      return await this.#attempt(use, deadline.promise).catch((err: unknown) => {
        const shouldRetry = retry && err instanceof KubeletError && err.reason === 'ThreadDied';
        return shouldRetry ? this.#attempt(use, deadline.promise) : Promise.reject(err);
      });
    } finally {
      this.#calls -= 1;
      cancel();
    }
  }

  /** Lets the thread finish, within a deadline, and terminates it. Rejects pending calls. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Terminates the worker as a fault would, so that it is restarted. For tests. */
  async kill(): Promise<void> {
    await this.#running?.worker.terminate();
  }

  async #attempt<T>(use: (api: Remote<Api>) => Promise<T>, deadline: Promise<never>): Promise<T> {
    const running = this.#running ?? (await this.#nextWorker(deadline));
    const death = Promise.withResolvers<never>();
    running.calls.add(death.reject);
    try {
      return await Promise.race([use(running.api), death.promise, deadline]);
    } finally {
      running.calls.delete(death.reject);
    }
  }

  async #nextWorker(deadline: Promise<never>): Promise<RunningWorker<Api>> {
    if (this.#closing) throw this.#closedError();
    const waiter = Promise.withResolvers<RunningWorker<Api>>();
    this.#waiting.add(waiter);
    try {
      return await Promise.race([waiter.promise, deadline]);
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  #start(): void {
    const { name, entry, onStart, resourceLimits, heartbeatRow, onNotification, logger } = this.#options;
    const { workerData, transferList = [] } = onStart();
    const worker = new Worker(entry, { name, workerData, transferList: [...transferList], resourceLimits, env: threadEnvironment });
    if (onNotification) receiveNotifications(worker, onNotification, logger);
    const running: RunningWorker<Api> = {
      worker,
      api: wrap<Api>(endpoint(worker)),
      startedAtMs: this.#clock.monotonic(),
      calls: new Set(),
    };
    const terminate = this.#supervisor.onExit(worker, (exit) => this.#onExit(running, exit));
    this.#running = running;
    this.#supervisor.recordStart(heartbeatRow, running.startedAtMs, terminate);
    logger.debug({ thread: name, threadId: worker.threadId }, 'thread started');
    for (const { resolve } of this.#waiting) resolve(running);
  }

  #onExit(running: RunningWorker<Api>, exit: WorkerExit): void {
    const { name, heartbeatRow } = this.#options;
    this.#running = null;
    if (this.#closing) {
      this.#supervisor.recordExit(name, heartbeatRow, exit);
      for (const reject of running.calls) reject(this.#closedError());
      return;
    }
    const uptimeMs = this.#clock.monotonic() - running.startedAtMs;
    const restartInMs = this.#supervisor.scheduleRestart(name, uptimeMs, () => this.#start());
    this.#supervisor.recordExit(name, heartbeatRow, exit, { uptimeMs: Math.round(uptimeMs), restartInMs });
    const { exitCode, cause } = exit;
    for (const reject of running.calls)
      reject(new KubeletError('ThreadDied', `the ${name} thread died with exit code ${exitCode}`, { cause }));
  }

  async #close(): Promise<void> {
    this.#supervisor.close();
    for (const { reject } of this.#waiting) reject(this.#closedError());
    if (this.#running) await this.#finish(this.#running.worker);
    this.#options.onClosed?.();
  }

  async #finish(worker: Worker): Promise<void> {
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const { finish, logger } = this.#options;
    if (finish) {
      const finished = this.call(finish, { deadlineMs: finishDeadlineMs });
      await finished.catch((err: unknown) => logger.warn({ thread: this.name, err }, 'thread did not finish in time; it is terminated'));
    }
    await worker.terminate();
    await exited;
  }

  #closedError(): KubeletError {
    return new KubeletError('ThreadClosed', `the ${this.name} thread is closed`);
  }
}

/** Comlink receives the same messages: it ignores notifications, and its answers are ignored here. */
function receiveNotifications(worker: Worker, handle: (notification: unknown) => void, logger: Logger): void {
  receiveMessages(worker, logger, (message: unknown) => {
    if (isOrderedNotification(message)) handle(message.notification);
  });
}
