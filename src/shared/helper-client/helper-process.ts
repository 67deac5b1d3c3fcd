/** One helper process: its start, its pending requests and its end. */
import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { HelperCancellation, HelperOperation, HelperProgress, HelperReply } from '../contracts/helper.ts';
import type { Logger } from '../log/logger.ts';
import type { HelperLimits } from './helper-limits.ts';

export interface HelperProcessOptions {
  readonly entry: URL;
  readonly idleMs: number;
  readonly logger: Logger;
  readonly onExit: () => void;
}

/** A request that the helper failed, or did not complete in time. */
class HelperError extends Error {
  override readonly name = 'HelperError';
  readonly code: string | undefined;
  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

interface PendingRequest {
  readonly settle: (reply: HelperReply) => void;
  readonly fail: (err: Error) => void;
  /** The deadline. */
  readonly timer: NodeJS.Timeout;
  readonly onProgress: HelperLimits['onProgress'];
  /** Of a long operation, as last reported. */
  files: number;
}

/** libuv threads of the helper. When all of them hang, the process completes no request. */
const fileThreads = 16;
const maxHeapMiB = 64;
/** A canceled operation that changes files ends with its present one. A caller that went on at once would find the files open. */
const cancelMs: Partial<Record<HelperOperation, number>> = { changeOwnership: 1000 };
/** More than all volumes of a full node need at once. */
const maxPendingRequests = 10_000;

export class HelperProcess {
  readonly #child: ChildProcess;
  readonly #logger: Logger;
  readonly #idleMs: number;
  readonly #pending = new Map<number, PendingRequest>();
  #nextID = 1;
  #retired = false;
  #killed = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({ entry, idleMs, logger, onExit }: HelperProcessOptions) {
    this.#idleMs = idleMs;
    const libraries = process.env['LD_LIBRARY_PATH'];
    // The helper inherits no Node options, and of the environment only the library path: tests and tracing of the daemon must not change it.
    this.#child = fork(fileURLToPath(entry), [], {
      // A small young generation saves some megabytes.
      // SIGUSR1 opens no debugger: see bin/kubelet.
      execArgv: [`--max-old-space-size=${maxHeapMiB}`, '--max-semi-space-size=1', '--disable-sigusr1'],
      env: { UV_THREADPOOL_SIZE: String(fileThreads), ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#logger = logger.child({ helperPid: this.#child.pid });
    this.#logger.debug('helper started');
    this.#child.on('message', (message: HelperReply | HelperProgress) => {
      if ('files' in message) this.#onProgress(message);
      else this.#onReply(message);
    });
    this.#child.on('error', (err) => {
      this.#failAll(new HelperError(`helper process: ${err.message}`, 'EPIPE'));
      // Without a PID the process never started, and emits no `exit`.
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
  get acceptsRequests(): boolean {
    return !this.#retired && this.#child.connected;
  }
  get killed(): boolean {
    return this.#killed;
  }

  request(
    operation: HelperOperation,
    request: unknown,
    { deadlineMs, signal, onProgress }: HelperLimits & { readonly deadlineMs: number },
  ): Promise<unknown> {
    if (this.#pending.size >= maxPendingRequests)
      return Promise.reject(new HelperError(`${maxPendingRequests} requests wait for the helper`, 'EAGAIN'));
    // Without free descriptors, Node gives a child no channel. The child's 'error' event follows.
    if (!this.#child.connected) return Promise.reject(new HelperError('the helper process could not be started', 'EPIPE'));
    clearTimeout(this.#idleTimer);
    this.#child.ref();
    this.#child.channel?.ref();
    const id = this.#nextID++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#onDeadlineMissed(id, operation, request, deadlineMs), deadlineMs);
      const abort = () => {
        const leave = () => reject(signal?.reason as Error);
        const waitMs = cancelMs[operation];
        if (waitMs === undefined) return leave();
        this.#child.send({ id, isCanceled: true } satisfies HelperCancellation, () => {});
        setTimeout(leave, waitMs).unref();
      };
      const removeListener = () => signal?.removeEventListener('abort', abort);
      signal?.addEventListener('abort', abort, { once: true });
      this.#pending.set(id, {
        timer,
        onProgress,
        files: 0,
        settle: (reply) => {
          removeListener();
          if ('failure' in reply) reject(new HelperError(reply.failure.message, reply.failure.code));
          else resolve(reply.reply);
        },
        fail: (err) => {
          removeListener();
          reject(err);
        },
      });
      this.#child.send({ id, operation, request }, (err) => {
        if (err) this.#removePending(id)?.fail(new HelperError(`helper process: ${err.message}`, 'EPIPE'));
      });
    });
  }

  /** Sends SIGKILL. Resolves when the process has exited, or after a second: a process that hangs in the kernel exits later. */
  async kill(): Promise<void> {
    this.#retired = true;
    this.#killed = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await Promise.race([exited, sleep(1000, undefined, { ref: false })]);
    this.#unref();
    this.#failAll(new HelperError('the helper was closed', 'EPIPE'));
  }

  #removePending(id: number): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    return pending;
  }

  /** The deadline begins again when the operation advances. */
  #onProgress({ id, files }: HelperProgress): void {
    const pending = this.#pending.get(id);
    if (!pending || files <= pending.files) return;
    pending.files = files;
    pending.timer.refresh();
    pending.onProgress?.(files);
  }

  #onReply(reply: HelperReply): void {
    this.#removePending(reply.id)?.settle(reply);
    this.#endWhenIdle();
  }

  #onDeadlineMissed(id: number, operation: HelperOperation, request: unknown, deadlineMs: number): void {
    this.#retired = true;
    const { path, target, volumePath } = request as Partial<Record<'path' | 'target' | 'volumePath', string>>;
    const subject = volumePath ?? target ?? path;
    this.#logger.error({ operation, path: subject, deadlineMs, waiting: this.#pending.size - 1 }, 'helper did not answer, replaced');
    this.#removePending(id)?.fail(
      new HelperError(`${operation} of ${subject}: no answer within ${deadlineMs} ms, the filesystem may hang`, 'ETIMEDOUT'),
    );
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (this.#pending.size > 0) return;
    this.#unref();
    if (this.#retired) void this.kill();
    else {
      this.#idleTimer = setTimeout(() => void this.kill(), this.#idleMs);
      this.#idleTimer.unref();
    }
  }

  /** An idle helper must not keep the daemon from exiting. */
  #unref(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #failAll(err: Error): void {
    for (const id of this.#pending.keys()) this.#removePending(id)?.fail(err);
  }
}
