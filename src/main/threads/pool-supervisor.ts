/**
 * Births and deaths in the sync pool. Piscina starts its threads by itself, and each takes a slot when it wakes: a thread's life is
 * kept in the heartbeat row of its slot, from the thread's own word (`enterPoolThread`) until main sees it end.
 */
import type { Piscina } from 'piscina';
import type { Worker } from 'node:worker_threads';
import type { PodSyncWorkerData } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { HangWatchdog } from './hang-watchdog.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { releaseSlot, slotOwner } from '../../shared/state/claims.ts';
import type { ThreadStatusWriter } from '../../shared/state/heartbeats.ts';
import type { SlotClaimed } from '../../shared/thread/enter-thread.ts';

export interface PoolSupervisorOptions {
  readonly lives: ThreadStatusWriter;
  readonly hangs: HangWatchdog;
  readonly birth: PodSyncWorkerData;
  readonly logger: Logger;
}

export class PoolSupervisor {
  readonly #options: PoolSupervisorOptions;
  readonly #letBe = new Map<number, () => void>();
  readonly #watched = new WeakSet<Worker>();
  /** How to end each thread that lives, by its number. */
  readonly #endings = new Map<number, (why: string) => void>();
  #closed = false;

  constructor(options: PoolSupervisorOptions) {
    this.#options = options;
  }

  /** Follows the threads of a pool, and those that replace them; `onDeath` comes after each death, when piscina has done its part. */
  watch(pool: Piscina, onDeath: () => void): void {
    pool.on('message', (message: unknown) => {
      if (isSlotClaimed(message)) this.#onClaimed(message);
    });
    const follow = () => {
      for (const worker of pool.threads) {
        if (this.#watched.has(worker)) continue;
        this.#watched.add(worker);
        this.#follow(worker, () => {
          follow();
          if (!this.#closed) onDeath();
        });
      }
    };
    follow();
    pool.on('workerCreate', follow);
  }

  /** Ends from here on were asked for. */
  close(): void {
    this.#closed = true;
    for (const letBe of this.#letBe.values()) letBe();
  }

  #onClaimed({ claimedSlot, atMs }: SlotClaimed): void {
    const { lives, hangs, birth } = this.#options;
    const row = this.#row(claimedSlot);
    lives.started(row, atMs);
    const threadId = slotOwner(birth.claims, claimedSlot);
    this.#letBe.get(threadId)?.();
    this.#letBe.set(
      threadId,
      hangs.follow(row, (why) => this.#endings.get(threadId)?.(why)),
    );
  }

  #follow(worker: Worker, onExit: () => void): void {
    const { threadId } = worker;
    let cause: unknown;
    worker.on('error', (err: unknown) => (cause = err));
    this.#endings.set(threadId, (why) => {
      cause ??= new Error(why);
      void worker.terminate();
    });
    worker.once('exit', (exitCode) => {
      const { lives, birth, logger } = this.#options;
      this.#endings.delete(threadId);
      this.#letBe.get(threadId)?.();
      this.#letBe.delete(threadId);
      const slot = releaseSlot(birth.claims, threadId);
      if (this.#closed) {
        if (slot >= 0) lives.stopped(this.#row(slot));
      } else {
        if (slot >= 0) lives.died(this.#row(slot), exitCode, cause === undefined ? '' : messageOf(cause));
        logger.error({ thread: slot < 0 ? 'pod-sync' : `pod-sync-${slot}`, exitCode, err: cause }, 'thread died; it will be started again');
      }
      onExit();
    });
  }

  #row(slot: number): number {
    return this.#options.birth.heartbeatRows[slot]!;
  }
}

function isSlotClaimed(message: unknown): message is SlotClaimed {
  return typeof message === 'object' && message !== null && 'claimedSlot' in message;
}
