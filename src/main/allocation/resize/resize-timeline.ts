/** Records each resize in the timeline of its pod, and how long the resize waited for room on the node. */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

/** The part of the pods' timelines that a resize needs. */
export interface ResizePhases {
  beginUnlessOpen(uid: PodUID, phase: 'Resize'): void;
  end(uid: PodUID, phase: 'Resize', options: { readonly failed: boolean }): void;
  /** Returns a function that ends the wait. */
  wait(uid: PodUID, phase: 'Resize', wait: 'Room'): () => void;
}

export class ResizeTimeline {
  readonly #timelines: ResizePhases;
  readonly #waits = new Map<PodUID, () => void>();

  constructor(timelines: ResizePhases) {
    this.#timelines = timelines;
  }

  begin(uid: PodUID): void {
    this.#timelines.beginUnlessOpen(uid, 'Resize');
  }

  waitForRoom(uid: PodUID): void {
    const end = this.#waits.has(uid) ? undefined : this.#timelines.wait(uid, 'Resize', 'Room');
    if (end) this.#waits.set(uid, end);
  }

  endWait(uid: PodUID): void {
    this.#waits.get(uid)?.();
    this.#waits.delete(uid);
  }

  end(uid: PodUID, failed = false): void {
    this.endWait(uid);
    this.#timelines.end(uid, 'Resize', { failed });
  }

  forget(uid: PodUID): void {
    this.#waits.delete(uid);
  }
}
