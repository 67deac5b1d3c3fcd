/**
 * The time of each pod's next sync: one due time per pod, one timer for all pods. Calls `onDue` when the first pod is due. Upstream polls its queue
 * once per second (pkg/kubelet/util/queue); here a back-off ends on time.
 */
import type { PodUID } from '../kubernetes/ids.ts';
import type { Clock } from '../time/clock.ts';

interface Entry {
  readonly uid: PodUID;
  readonly dueMs: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  /** A binary heap by due time. Replaced entries stay in the heap and are dropped when they reach the top. */
  #heap: Entry[] = [];
  readonly #latest = new Map<PodUID, Entry>();
  #timer: { readonly atMs: number; readonly cancel: () => void } | null = null;

  constructor({ clock, onDue }: { readonly clock: Clock; readonly onDue: () => void }) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Replaces the pod's due time. */
  enqueue(uid: PodUID, delayMs: number): void {
    const entry = { uid, dueMs: this.#clock.monotonic() + Math.max(0, delayMs) };
    this.#latest.set(uid, entry);
    // Drops replaced entries in bulk before they outnumber the others. The 16 spares a short queue frequent rebuilds.
    if (this.#heap.length > 2 * this.#latest.size + 16) {
      this.#heap = [...this.#latest.values()].toSorted((a, b) => a.dueMs - b.dueMs);
    } else {
      push(this.#heap, entry);
    }
    this.#arm();
  }

  remove(uid: PodUID): void {
    this.#latest.delete(uid);
  }

  /** Removes and returns all pods that are due, in the order of their due times. */
  takeDue(): PodUID[] {
    const nowMs = this.#clock.monotonic();
    const dueUIDs: PodUID[] = [];
    for (let top = this.#heap[0]; top && top.dueMs <= nowMs; top = this.#heap[0]) {
      pop(this.#heap);
      if (this.#latest.get(top.uid) !== top) continue;
      this.#latest.delete(top.uid);
      dueUIDs.push(top.uid);
    }
    this.#arm();
    return dueUIDs;
  }

  get size(): number {
    return this.#latest.size;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#heap = [];
    this.#latest.clear();
  }

  #arm(): void {
    while (this.#heap[0] && this.#latest.get(this.#heap[0].uid) !== this.#heap[0]) pop(this.#heap);
    const first = this.#heap[0];
    if (first?.dueMs === this.#timer?.atMs) return;
    this.#timer?.cancel();
    this.#timer = null;
    if (!first) return;
    const waitMs = Math.max(0, first.dueMs - this.#clock.monotonic());
    const cancel = this.#clock.after(waitMs, () => {
      this.#timer = null;
      this.#onDue();
    });
    this.#timer = { atMs: first.dueMs, cancel };
  }
}

function push(heap: Entry[], entry: Entry): void {
  let index = heap.length;
  heap.push(entry);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (heap[parent]!.dueMs <= entry.dueMs) break;
    heap[index] = heap[parent]!;
    index = parent;
  }
  heap[index] = entry;
}

function pop(heap: Entry[]): void {
  const lastEntry = heap.pop();
  if (!lastEntry || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.dueMs < heap[child]!.dueMs) child += 1;
    if (heap[child]!.dueMs >= lastEntry.dueMs) break;
    heap[index] = heap[child]!;
    index = child;
  }
  heap[index] = lastEntry;
}
