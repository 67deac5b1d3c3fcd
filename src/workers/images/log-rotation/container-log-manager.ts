/**
 * Checks the logs of running containers each monitor interval, and rotates those that have reached the limit (upstream
 * pkg/kubelet/logs/container_log_manager.go).
 */
import { lstat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LogRotationPolicy } from '../../../shared/contracts/images.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import { isCriNotFound } from '../../../shared/cri/cri-error.ts';
import { ContainerState } from '../../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { openLogFolder } from '../../../shared/container-logs/open-log-folder.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { RuntimeSnapshotReader } from '../../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { CheckQueue } from './check-queue.ts';
import { computeEarlyCheckMs } from './early-check.ts';
import { LogCompressor } from './log-compressor.ts';
import { FilesystemGrowth } from './filesystem-growth.ts';
import { HalfReopenedError, rotateLog } from './rotate-log.ts';

export interface ContainerLogManagerOptions {
  readonly policy: LogRotationPolicy;
  readonly snapshot: Pick<RuntimeSnapshotReader, 'all' | 'relistedAtMs'>;
  readonly runtime: Pick<CriClient['runtime'], 'call'>;
  readonly runtimeRequestTimeoutMs: number;
  readonly podLogsDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The log of a running container, as of its last check. */
interface TrackedLog {
  /** Undefined: not asked yet. */
  path: string | undefined;
  /** The size at the last check, and the monotonic time of that check. Before the first check: 0, and the time of the container's creation. */
  sizeBytes: number;
  checkedAtMs: number;
  /** The runtime may still write to the rotated log. */
  mustReopen: boolean;
  /** The failure that was logged last. A check with the same failure does not log it again. */
  failure: string;
  cancelEarlyCheck: () => void;
}

/** How soon the manager checks again whether the first relist has filled the snapshot. */
const waitForRelistMs = 500;
/** While ReopenContainerLog runs, the log has no name. The runtime opens one file, so more time does not help it. */
const reopenDeadlineMs = 10_000;

export class ContainerLogManager {
  readonly #options: ContainerLogManagerOptions;
  readonly #queue: CheckQueue;
  readonly #compressor: LogCompressor;
  readonly #growth: FilesystemGrowth;
  readonly #logs = new Map<ContainerID, TrackedLog>();
  /** Cancels the next check of all logs. */
  #cancelRound: () => void = () => {};
  #closed = false;

  constructor(options: ContainerLogManagerOptions) {
    const { policy, podLogsDir, clock, logger } = options;
    this.#options = options;
    this.#queue = new CheckQueue({ workers: policy.maxWorkers, clock, check: (id) => this.#check(id) });
    this.#growth = new FilesystemGrowth({
      usedBytes: () => usedBytes(podLogsDir),
      maxSizeBytes: policy.maxSizeBytes,
      clock,
      onGrowth: () => this.#checkAll(),
    });
    this.#compressor = new LogCompressor({
      podLogsDir,
      maxSizeBytes: policy.maxSizeBytes,
      workers: policy.maxWorkers,
      clock,
      onError: (path, err) => logger.warn({ err, path }, 'Failed to compress log; it stays uncompressed until the next rotation'),
    });
  }

  start(): void {
    const { logger, policy } = this.#options;
    const { maxWorkers: workers, monitorIntervalMs: monitorPeriodMs } = policy;
    logger.info({ workers, monitorPeriodMs }, 'Initializing container log rotate workers');
    this.#checkAll();
    this.#growth.start();
  }

  /** Resolves when the rotations in flight have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRound();
    this.#growth.close();
    for (const { cancelEarlyCheck } of this.#logs.values()) cancelEarlyCheck();
    await Promise.all([this.#queue.close(), this.#compressor.close()]);
  }

  #checkAll(): void {
    const { snapshot, clock, policy } = this.#options;
    const isListed = snapshot.relistedAtMs > 0;
    this.#growth.reset();
    this.#cancelRound();
    this.#cancelRound = clock.after(isListed ? policy.monitorIntervalMs : waitForRelistMs, () => this.#checkAll());
    if (!isListed) return;
    const running = new Set<ContainerID>();
    for (const { kind, state, id, createdAtMs } of snapshot.all()) {
      // A container that does not run writes nothing.
      if (kind !== 'container' || state !== 'running') continue;
      running.add(id as ContainerID);
      if (!this.#logs.has(id as ContainerID)) this.#logs.set(id as ContainerID, newLog(clock.monotonic() - (clock.now() - createdAtMs)));
    }
    for (const id of this.#logs.keys()) {
      if (running.has(id)) this.#queue.add(id);
      else this.#forget(id);
    }
  }

  #forget(id: ContainerID): void {
    this.#logs.get(id)?.cancelEarlyCheck();
    this.#logs.delete(id);
  }

  /** Never rejects: a failure ends only this check. */
  async #check(id: ContainerID): Promise<void> {
    const log = this.#logs.get(id);
    if (!log) return;
    log.cancelEarlyCheck();
    try {
      await this.#checkLog(id, log);
      log.failure = '';
    } catch (err) {
      if (isCriNotFound(err)) return this.#forget(id);
      if (err instanceof HalfReopenedError) log.mustReopen = true;
      const failure = messageOf(err);
      if (failure === log.failure || this.#closed) return;
      log.failure = failure;
      this.#options.logger.error({ err, containerID: id, path: log.path }, 'Failed to rotate log for container');
    }
  }

  async #checkLog(id: ContainerID, log: TrackedLog): Promise<void> {
    const { policy, clock } = this.#options;
    log.path ??= await this.#runningLogPath(id);
    if (log.path === undefined) return this.#forget(id);
    // Another client of the runtime has created the container without a log.
    if (log.path === '') return;
    if (log.mustReopen) {
      await this.#reopen(id);
      log.mustReopen = false;
    }
    const sizeBytes = await this.#sizeOf(id, log.path);
    const checkedAtMs = clock.monotonic();
    const growth = { grownBytes: sizeBytes - log.sizeBytes, elapsedMs: checkedAtMs - log.checkedAtMs };
    log.checkedAtMs = checkedAtMs;
    log.sizeBytes = sizeBytes;
    // An empty log is not rotated, whatever the limit.
    if (sizeBytes >= Math.max(1, policy.maxSizeBytes)) {
      await this.#rotate(id, log);
      log.sizeBytes = 0;
    }
    const earlyCheckMs = computeEarlyCheckMs({ sizeBytes: log.sizeBytes, ...growth }, policy);
    if (earlyCheckMs !== null && !this.#closed) log.cancelEarlyCheck = clock.after(earlyCheckMs, () => this.#queue.add(id));
  }

  /** Rejects when the log is not a file. A running container without a log gets a new one: a rotation was interrupted. */
  async #sizeOf(id: ContainerID, path: string): Promise<number> {
    const stats = await lstat(path).catch(async (err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
      await this.#reopen(id);
      return lstat(path);
    });
    if (!stats.isFile()) throw new Error(`container log "${path}" is not a regular file`);
    return stats.size;
  }

  async #rotate(id: ContainerID, log: TrackedLog): Promise<void> {
    const { policy, podLogsDir, clock, logger } = this.#options;
    // The container may have ended since the last relist; its log keeps its name.
    log.path = await this.#runningLogPath(id);
    if (log.path === undefined) return this.#forget(id);
    const { path } = log;
    const folder = await openLogFolder(podLogsDir, path);
    if (!folder) throw new Error(`container log "${path}" is not in a folder below ${podLogsDir}`);
    try {
      const toCompress = await rotateLog(folder, {
        maxFiles: policy.maxFiles,
        nowMs: clock.now(),
        reopen: () => this.#reopen(id),
        isInProgress: (name) => this.#compressor.isInProgress(join(dirname(path), name)),
        onRemovalError: (name, err) => logger.error({ err, containerID: id, path: join(dirname(path), name) }, 'Failed to remove old log'),
      });
      this.#compressor.add(
        path,
        toCompress.map((rotated) => ({ ...rotated, path: join(dirname(path), rotated.path) })),
      );
      logger.debug({ containerID: id, path, sizeBytes: log.sizeBytes }, 'Rotated container log');
    } finally {
      await folder.handle.close();
    }
  }

  /** Undefined: the container does not run. Rejects with the runtime's error. */
  async #runningLogPath(id: ContainerID): Promise<string | undefined> {
    const { runtime, runtimeRequestTimeoutMs: deadlineMs } = this.#options;
    const { status } = await runtime.call('containerStatus', { containerId: id }, { deadlineMs });
    return status?.state === ContainerState.CONTAINER_RUNNING ? status.logPath : undefined;
  }

  async #reopen(id: ContainerID): Promise<void> {
    const { runtime, runtimeRequestTimeoutMs } = this.#options;
    await runtime.call('reopenContainerLog', { containerId: id }, { deadlineMs: Math.min(runtimeRequestTimeoutMs, reopenDeadlineMs) });
  }
}

async function usedBytes(folder: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(folder);
  return (blocks - bfree) * bsize;
}

function newLog(createdAtMs: number): TrackedLog {
  return { path: undefined, sizeBytes: 0, checkedAtMs: createdAtMs, mustReopen: false, failure: '', cancelEarlyCheck: () => {} };
}
