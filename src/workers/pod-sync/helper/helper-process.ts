/** One child process of the helper: its requests under way, its end. */
import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { HelperOperation, HelperReply } from '../../../shared/contracts/helper.ts';
import type { Logger } from '../../../shared/log/logger.ts';

export interface HelperProcessOptions {
  readonly entry: URL;
  readonly idleMs: number;
  readonly logger: Logger;
  readonly onExit: () => void;
}

/** What the helper could not do, or did not in time. */
class HelperError extends Error {
  override readonly name = 'HelperError';
  readonly code: string | undefined;
  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

interface Waiting {
  readonly settle: (reply: HelperReply) => void;
  readonly fail: (err: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** File threads of the helper: so many may hang before it answers nobody. */
const fileThreads = 16;
const maxHeapMiB = 64;
/** More than all volumes of all pods of a full node at once: a bound, not a limit that is met. */
const maxWaiting = 10_000;

export class HelperProcess {
  readonly #child: ChildProcess;
  readonly #logger: Logger;
  readonly #idleMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #nextID = 1;
  #retired = false;
  #killed = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({ entry, idleMs, logger, onExit }: HelperProcessOptions) {
    this.#idleMs = idleMs;
    const libraries = process.env['LD_LIBRARY_PATH'];
    // Nothing of this process's own options, and of its environment only where libraries are: how it runs must not depend on who tests or
    // traces the daemon.
    this.#child = fork(fileURLToPath(entry), [], {
      execArgv: [`--max-old-space-size=${maxHeapMiB}`],
      env: { UV_THREADPOOL_SIZE: String(fileThreads), ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#logger = logger.child({ helperPid: this.#child.pid });
    this.#logger.debug('helper started');
    this.#child.on('message', (reply: HelperReply) => this.#answered(reply));
    this.#child.on('error', (err) => {
      this.#failAll(new HelperError(`helper process: ${err.message}`, 'EPIPE'));
      // It was never born: nobody will tell of its end.
      if (this.#child.pid !== undefined) return;
      this.#retired = true;
      onExit();
    });
    this.#child.on('exit', (exitCode, signal) => {
      this.#retired = true;
      clearTimeout(this.#idleTimer);
      if (!this.#killed) this.#logger.warn({ exitCode, signal }, 'helper died');
      this.#failAll(new HelperError(`helper process ended (${signal ?? exitCode}) before it answered`, 'EPIPE'));
      onExit();
    });
    this.#unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }
  get takesRequests(): boolean {
    return !this.#retired && this.#child.connected;
  }
  get killed(): boolean {
    return this.#killed;
  }

  request(operation: HelperOperation, request: unknown, deadlineMs: number, signal?: AbortSignal): Promise<unknown> {
    if (this.#waiting.size >= maxWaiting) return Promise.reject(new HelperError(`${maxWaiting} requests wait for the helper`, 'EAGAIN'));
    clearTimeout(this.#idleTimer);
    this.#child.ref();
    this.#child.channel?.ref();
    const id = this.#nextID++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#missed(id, operation, request, deadlineMs), deadlineMs);
      const abort = () => reject(signal?.reason as Error);
      const done = () => signal?.removeEventListener('abort', abort);
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.set(id, {
        timer,
        settle: (reply) => {
          done();
          if ('failure' in reply) reject(new HelperError(reply.failure.message, reply.failure.code));
          else resolve(reply.reply);
        },
        fail: (err) => {
          done();
          reject(err);
        },
      });
      this.#child.send({ id, operation, request }, (err) => {
        if (err) this.#take(id)?.fail(new HelperError(`helper process: ${err.message}`, 'EPIPE'));
      });
    });
  }

  /** SIGKILL by its own id. Resolves when it is gone, or after a second: what hangs in the kernel dies when the kernel lets it. */
  async kill(): Promise<void> {
    this.#retired = true;
    this.#killed = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await Promise.race([gone, sleep(1000, undefined, { ref: false })]);
    this.#unref();
    this.#failAll(new HelperError('the helper was closed', 'EPIPE'));
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (!waiting) return undefined;
    clearTimeout(waiting.timer);
    this.#waiting.delete(id);
    return waiting;
  }

  #answered(reply: HelperReply): void {
    this.#take(reply.id)?.settle(reply);
    this.#whenIdle();
  }

  #missed(id: number, operation: HelperOperation, request: unknown, deadlineMs: number): void {
    this.#retired = true;
    const { path, target, volumePath } = request as Partial<Record<'path' | 'target' | 'volumePath', string>>;
    const about = volumePath ?? target ?? path;
    this.#logger.error({ operation, path: about, deadlineMs, waiting: this.#waiting.size - 1 }, 'helper did not answer, replaced');
    this.#take(id)?.fail(
      new HelperError(`${operation} of ${about}: no answer within ${deadlineMs} ms, the filesystem may hang`, 'ETIMEDOUT'),
    );
    this.#whenIdle();
  }

  #whenIdle(): void {
    if (this.#waiting.size > 0) return;
    this.#unref();
    if (this.#retired) void this.kill();
    else {
      this.#idleTimer = setTimeout(() => void this.kill(), this.#idleMs);
      this.#idleTimer.unref();
    }
  }

  /** A process that only waits for work keeps nobody from ending. */
  #unref(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #failAll(err: Error): void {
    for (const id of this.#waiting.keys()) this.#take(id)?.fail(err);
  }
}
