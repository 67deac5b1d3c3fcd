/**
 * The containers whose logs wait for a check. A container is in the queue once, and has at most one check in flight. A check that takes long,
 * because the runtime does not answer for one container, leaves its worker to others.
 */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import * as metrics from '../../../shared/metrics/definitions/work-queues.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface CheckQueueOptions {
  /** Must not reject. */
  readonly check: (id: ContainerID) => Promise<void>;
  /** Checks at the same time (containerLogMaxWorkers). */
  readonly workers: number;
  readonly clock: Clock;
}

/** After this time a check no longer occupies a worker. A rotation takes milliseconds, so a longer check waits for the runtime. */
const overdueMs = 5000;
/** Upstream's name of the queue. */
const labels = { name: 'kubelet_log_rotate_manager' };

interface CheckInFlight {
  readonly startedAtMs: number;
  readonly ended: Promise<void>;
}

export class CheckQueue {
  readonly #options: CheckQueueOptions;
  /** The monotonic ms at which each container was added, in the order of the checks. */
  readonly #queued = new Map<ContainerID, number>();
  readonly #inFlight = new Map<ContainerID, CheckInFlight>();
  #busyWorkers = 0;
  #closed = false;

  constructor(options: CheckQueueOptions) {
    this.#options = options;
    // A check that fails is not repeated before the next one is due.
    metrics.workQueueRetries.inc(labels, 0);
  }

  add(id: ContainerID): void {
    if (this.#closed || this.#queued.has(id) || this.#inFlight.has(id)) return;
    this.#queued.set(id, this.#options.clock.monotonic());
    metrics.workQueueAdds.inc(labels);
    this.#startNext();
  }

  /** Starts no more checks. Resolves when the checks in flight have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#queued.clear();
    await Promise.all(Array.from(this.#inFlight.values(), ({ ended }) => ended));
  }

  #startNext(): void {
    const { clock, workers } = this.#options;
    for (const [id, addedAtMs] of this.#queued) {
      if (this.#busyWorkers >= workers) break;
      this.#queued.delete(id);
      const startedAtMs = clock.monotonic();
      metrics.workQueueLatency.observe((startedAtMs - addedAtMs) / 1000, labels);
      this.#inFlight.set(id, { startedAtMs, ended: this.#run(id, startedAtMs) });
    }
    this.#measure();
  }

  #measure(): void {
    const nowMs = this.#options.clock.monotonic();
    const seconds = Array.from(this.#inFlight.values(), ({ startedAtMs }) => (nowMs - startedAtMs) / 1000);
    metrics.workQueueDepth.set(this.#queued.size, labels);
    metrics.workQueueUnfinished.set(
      seconds.reduce((sum, each) => sum + each, 0),
      labels,
    );
    metrics.workQueueLongest.set(Math.max(0, ...seconds), labels);
  }

  async #run(id: ContainerID, startedAtMs: number): Promise<void> {
    const { clock, check } = this.#options;
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
    metrics.workQueueDuration.observe((clock.monotonic() - startedAtMs) / 1000, labels);
    this.#startNext();
  }
}
