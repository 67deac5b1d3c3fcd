/** The status manager's record of one pod: the status to write, and what is known of the object that receives it. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podStatusSyncDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { StatusUpdate } from '../api-status/index.ts';
import { CoalesceTimer } from './coalesce-timer.ts';

export class StatusEntry {
  /** The newest status. A new one replaces a status that is not written yet. */
  update: StatusUpdate;
  /** Monotonic ms of the oldest change that is not written yet; null when everything is written. */
  changedAtMs: number | null;
  /** The API server's response to our last write or read, while it is newer than the object in the watch cache. */
  response: Pod | null = null;
  /** The patch that the server accepted without effect. The same patch is not sent again before the object changes. */
  ignoredPatch: { readonly text: string; readonly resourceVersion: string | undefined } | null = null;
  /** The UID of an object that no longer exists. */
  missingUID: string | null = null;
  /** The UID of the object that the status manager deleted. */
  deletedUID: string | null = null;
  /** Delays a change that the next one probably supersedes. */
  readonly coalesceTimer: CoalesceTimer;
  /** The change is written without a coalesce delay. */
  isExpedited = false;
  /** Resolvers of the callers that wait until everything is written. */
  readonly #waiters = new Set<() => void>();
  readonly #clock: Clock;

  constructor(update: StatusUpdate, clock: Clock) {
    this.update = update;
    this.changedAtMs = clock.monotonic();
    this.coalesceTimer = new CoalesceTimer(clock);
    this.#clock = clock;
  }

  setUpdate(update: StatusUpdate): void {
    this.update = update;
    this.changedAtMs ??= this.#clock.monotonic();
  }

  /** Records that nothing is left to write for now. */
  markWritten(): void {
    this.resolveWaiters();
    if (this.changedAtMs === null) return;
    podStatusSyncDuration.observe((this.#clock.monotonic() - this.changedAtMs) / 1000);
    this.changedAtMs = null;
  }

  /** Resolves when everything is written or cannot be written. Stays pending after the signal aborts. */
  waitUntilWritten(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.add(resolve);
      // The server may refuse a status permanently while warnings about its pod go on: the set must not grow.
      signal.addEventListener('abort', () => this.#waiters.delete(resolve), { once: true });
    });
  }

  resolveWaiters(): void {
    this.isExpedited = false;
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** Log fields that name the pod. */
export function podFields({ metadata: { name, namespace, uid } }: Pod): { readonly pod: string; readonly podUID: string } {
  return { pod: `${namespace}/${name}`, podUID: uid };
}
