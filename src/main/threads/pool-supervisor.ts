/**
 * Supervises the threads of the sync pool, which piscina starts by itself. A thread claims a slot when it starts and notifies main (`SlotClaimed`);
 * its status is in the heartbeat row of that slot until main sees it exit.
 */
import type { Piscina } from 'piscina';
import type { Worker } from 'node:worker_threads';
import type { PodSyncWorkerData, SlotClaimed } from '../../shared/contracts/pod-sync/worker-data.ts';
import { releaseSlot, slotOwner } from '../../shared/state/claims.ts';
import { WorkerSupervisor, type TerminateWorker, type WorkerExit, type WorkerSupervisorOptions } from './worker-supervisor.ts';

export interface PoolSupervisorOptions extends WorkerSupervisorOptions {
  readonly workerData: PodSyncWorkerData;
}

export class PoolSupervisor {
  readonly #workerData: PodSyncWorkerData;
  readonly #supervisor: WorkerSupervisor;
  readonly #followed = new WeakSet<Worker>();
  /** By thread ID. */
  readonly #terminate = new Map<number, TerminateWorker>();
  #closed = false;

  constructor(options: PoolSupervisorOptions) {
    this.#workerData = options.workerData;
    this.#supervisor = new WorkerSupervisor(options);
  }

  /** Follows the pool's threads and their replacements. Calls `onExit` after each exit, when piscina has handled the exit. */
  follow(pool: Piscina, onExit: () => void): void {
    pool.on('message', (message: unknown) => {
      if (isSlotClaimed(message)) this.#onClaimed(message);
    });
    const followWorkers = () => {
      for (const worker of pool.threads) {
        if (this.#followed.has(worker)) continue;
        this.#followed.add(worker);
        this.#followWorker(worker, () => {
          followWorkers();
          if (!this.#closed) onExit();
        });
      }
    };
    followWorkers();
    pool.on('workerCreate', followWorkers);
  }

  /** See WorkerSupervisor: for a pool that lost threads which piscina does not replace. */
  scheduleReplacement(uptimeMs: number, replace: () => void): number {
    return this.#supervisor.scheduleRestart(this.#workerData.thread, uptimeMs, replace);
  }

  /** Ends the supervision: a later exit is no death. */
  close(): void {
    this.#closed = true;
    this.#supervisor.close();
  }

  #onClaimed({ claimedSlot, atMs }: SlotClaimed): void {
    const threadId = slotOwner(this.#workerData.claims, claimedSlot);
    this.#supervisor.recordStart(this.#row(claimedSlot), atMs, (why) => this.#terminate.get(threadId)?.(why));
  }

  #followWorker(worker: Worker, onExit: () => void): void {
    const { threadId } = worker;
    const terminate = this.#supervisor.onExit(worker, (exit) => {
      this.#terminate.delete(threadId);
      this.#recordExit(threadId, exit);
      onExit();
    });
    this.#terminate.set(threadId, terminate);
  }

  #recordExit(threadId: number, exit: WorkerExit): void {
    const { claims, thread } = this.#workerData;
    const slot = releaseSlot(claims, threadId);
    if (slot < 0) this.#supervisor.recordExit(thread, null, exit);
    else this.#supervisor.recordExit(`${thread}-${slot}`, this.#row(slot), exit);
  }

  #row(slot: number): number {
    return this.#workerData.heartbeatRows[slot]!;
  }
}

function isSlotClaimed(message: unknown): message is SlotClaimed {
  return typeof message === 'object' && message !== null && 'claimedSlot' in message;
}
