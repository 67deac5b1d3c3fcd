/**
 * The pool thread's side of the helper process: every request has a deadline. One that misses it costs itself and its process: that
 * process gets no more requests, may finish those that it has, and is killed; the next request goes to a fresh one.
 */
import type { HelperOperation, HelperOperations } from '../../../shared/contracts/helper.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { HelperProcess } from './helper-process.ts';

export interface HelperClientOptions {
  readonly logger: Logger;
  /** The entry of the helper: another one in tests. */
  readonly entry?: URL;
  /** How long a process without work is kept. */
  readonly idleMs?: number;
}

export interface HelperLimits {
  readonly deadlineMs?: number;
  /** Ends the wait, not the work: the deadline still decides whether the process is well. */
  readonly signal?: AbortSignal | undefined;
}

/** Beyond this many processes that a kill did not end (they hang in the kernel), more would only pile up: requests fail at once. */
const maxStuckProcesses = 8;
const defaultDeadlineMs = 30_000;
/** The extension follows this file's own: .ts as written, .js compiled. */
const defaultEntry = new URL(`../../helper/index${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** One a thread. The process is started at the first request, and ended when it had none for a minute. */
export class HelperClient {
  readonly #logger: Logger;
  readonly #entry: URL;
  readonly #idleMs: number;
  #current: HelperProcess | undefined;
  readonly #alive = new Set<HelperProcess>();
  #closed = false;

  constructor({ logger, entry = defaultEntry, idleMs = 60_000 }: HelperClientOptions) {
    this.#logger = logger;
    this.#entry = entry;
    this.#idleMs = idleMs;
  }

  /**
   * Asks the helper. Rejects with HelperError: its `code` is the kernel's (`EBUSY`), `ETIMEDOUT` for a missed deadline, `EPIPE` when the
   * process went away; or with the signal's reason.
   */
  async call<K extends HelperOperation>(
    operation: K,
    request: HelperOperations[K]['request'],
    { deadlineMs = defaultDeadlineMs, signal }: HelperLimits = {},
  ): Promise<HelperOperations[K]['reply']> {
    signal?.throwIfAborted();
    return this.#process().request(operation, request, deadlineMs, signal) as Promise<HelperOperations[K]['reply']>;
  }

  /** Id of the process that takes requests now; absent before the first. */
  get pid(): number | undefined {
    return this.#current?.pid;
  }

  /** Kills the process; what is under way is rejected. Resolves when it is gone, or a second later if it hangs in the kernel. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#alive].map((process) => process.kill()));
  }

  #process(): HelperProcess {
    if (this.#closed) throw new Error('the helper is closed');
    if (this.#current?.takesRequests) return this.#current;
    const stuck = [...this.#alive].filter(({ killed }) => killed).length;
    if (stuck >= maxStuckProcesses) throw new Error(`${stuck} helper processes hang in the kernel: no more are started`);
    const process = new HelperProcess({
      entry: this.#entry,
      idleMs: this.#idleMs,
      logger: this.#logger,
      onExit: () => this.#alive.delete(process),
    });
    this.#alive.add(process);
    this.#current = process;
    return process;
  }
}
