/**
 * The containers whose logs wait for a check. A container is in the queue once, and has at most one check in flight. A check that takes long,
 * because the runtime does not answer for one container, leaves its place to others.
 */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { workQueueAdds, workQueueDepth, workQueueDuration, workQueueLatency } from '../../../shared/metrics/definitions/work-queues.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface CheckQueueOptions {
  /** Must not reject. */
  readonly check: (id: ContainerID) => Promise<void>;
  /** Checks at the same time (containerLogMaxWorkers). */
  readonly workers: number;
  readonly clock: Clock;
}

/** A rotation takes milliseconds, so a longer one waits for the runtime. */
const overdueMs = 5000;
/** Upstream's name of the queue. */
const labels = { name: 'kubelet_log_rotate_manager' };

export class CheckQueue {
  readonly #options: CheckQueueOptions;
  /** With the monotonic ms at which each was added. */
  readonly #queued = new Map<ContainerID, number>();
  readonly #inFlight = new Map<ContainerID, Promise<void>>();
  #busyWorkers = 0;
  #closed = false;

  constructor(options: CheckQueueOptions) {
    this.#options = options;
  }

  add(id: ContainerID): void {
    if (this.#closed || this.#queued.has(id) || this.#inFlight.has(id)) return;
    this.#queued.set(id, this.#options.clock.monotonic());
    workQueueAdds.inc(labels);
    this.#startNext();
  }

  /** Starts no more checks. Resolves when the checks in flight have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#queued.clear();
    await Promise.all(this.#inFlight.values());
  }

  #startNext(): void {
    const { clock, workers } = this.#options;
    for (const [id, addedAtMs] of this.#queued) {
      if (this.#busyWorkers >= workers) break;
      this.#queued.delete(id);
      workQueueLatency.observe((clock.monotonic() - addedAtMs) / 1000, labels);
      this.#inFlight.set(id, this.#run(id));
    }
    workQueueDepth.set(this.#queued.size, labels);
  }

  async #run(id: ContainerID): Promise<void> {
    const { clock, check } = this.#options;
    const startedAtMs = clock.monotonic();
    this.#busyWorkers += 1;
    let isOverdue = false;
    const cancel = clock.after(overdueMs, () => {
      isOverdue = true;
      this.#busyWorkers -= 1;
      this.#startNext();
    });
    await check(id);
    cancel();
    if (!isOverdue) this.#busyWorkers -= 1;
    this.#inFlight.delete(id);
    workQueueDuration.observe((clock.monotonic() - startedAtMs) / 1000, labels);
    this.#startNext();
  }
}
