/**
 * Which pods are being synced now. Pod workers record events, and a warning waits for the sync that it came from
 * (events/events-after-status.ts): both get this object, which is created before them.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

export interface SyncingWorker {
  readonly uid: PodUID;
  /** Settles when the sync in progress has ended and its status was computed; undefined when none is in progress. */
  readonly syncInProgress: Promise<unknown> | undefined;
}

export class SyncsInProgress {
  readonly #workers = new Map<PodUID, SyncingWorker>();

  add(worker: SyncingWorker): void {
    this.#workers.set(worker.uid, worker);
  }

  remove(uid: PodUID): void {
    this.#workers.delete(uid);
  }

  /** Settles when the pod's sync in progress has ended and its status was computed; undefined when none is in progress. */
  get(uid: PodUID): Promise<unknown> | undefined {
    return this.#workers.get(uid)?.syncInProgress;
  }
}
