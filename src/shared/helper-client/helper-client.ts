/**
 * Starts helper processes for a thread and sends them requests. Every request has a deadline. After a missed deadline, the process gets
 * no new requests, may finish the others, and is killed. The next request starts a new process.
 */
import type { HelperOperation, HelperOperations } from '../contracts/helper.ts';
import type { Logger } from '../log/logger.ts';
import { helperEntryURL } from './helper-entry-url.ts';
import type { HelperLimits } from './helper-limits.ts';
import { HelperProcess } from './helper-process.ts';

export interface HelperClientOptions {
  readonly logger: Logger;
  /** The helper's entry file; replaced in tests. */
  readonly entry?: URL;
  /** A process without requests ends after this time. */
  readonly idleMs?: number;
}

/** When this many killed processes hang in the kernel, requests fail at once instead of starting more. */
const maxStuckProcesses = 8;
const defaultDeadlineMs = 30_000;

/** Each thread has one. Starts the process at the first request and ends it after a minute without requests. */
export class HelperClient {
  readonly #logger: Logger;
  readonly #entry: URL;
  readonly #idleMs: number;
  #current: HelperProcess | undefined;
  readonly #processes = new Set<HelperProcess>();
  #closed = false;

  constructor({ logger, entry = helperEntryURL, idleMs = 60_000 }: HelperClientOptions) {
    this.#logger = logger;
    this.#entry = entry;
    this.#idleMs = idleMs;
  }

  /**
   * Sends a request. Rejects with HelperError, whose `code` is the kernel's (`EBUSY`), `ETIMEDOUT` after a missed deadline, or `EPIPE` when
   * the process ended; or with the signal's reason.
   */
  async call<K extends HelperOperation>(
    operation: K,
    request: HelperOperations[K]['request'],
    { deadlineMs = defaultDeadlineMs, ...limits }: HelperLimits = {},
  ): Promise<HelperOperations[K]['reply']> {
    limits.signal?.throwIfAborted();
    return this.#process().request(operation, request, { deadlineMs, ...limits }) as Promise<HelperOperations[K]['reply']>;
  }

  /** The ID of the process that gets requests now; undefined before the first request. */
  get pid(): number | undefined {
    return this.#current?.pid;
  }

  /** Kills all processes and rejects their requests. Resolves when they have exited, or after a second if they hang in the kernel. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#processes].map((process) => process.kill()));
  }

  #process(): HelperProcess {
    if (this.#closed) throw new Error('the helper is closed');
    if (this.#current?.acceptsRequests) return this.#current;
    const stuckProcesses = [...this.#processes].filter(({ killed }) => killed).length;
    if (stuckProcesses >= maxStuckProcesses) throw new Error(`${stuckProcesses} helper processes hang in the kernel: no more are started`);
    const process = new HelperProcess({
      entry: this.#entry,
      idleMs: this.#idleMs,
      logger: this.#logger,
      onExit: () => this.#processes.delete(process),
    });
    this.#processes.add(process);
    this.#current = process;
    return process;
  }
}
