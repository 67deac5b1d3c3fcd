/**
 * Collects a thread's heap after the thread has decoded or encoded much in large pieces. V8 alone collects a heap when it has doubled, and external memory
 * (buffers) when it has grown by tens of megabytes: with a few versions of one large pod, the garbage of each thread would be many times the size of the pod.
 */
import { collectHeap } from './collect-heap.ts';

/** Smaller pieces are ordinary: V8 collects them with the rest. */
const minPieceBytes = 128 * 1024;
/** Garbage that triggers a collection: two versions of the largest pod in JSON. */
const maxGarbageBytes = 16 * 1024 * 1024;

export class LargeGarbage {
  readonly #collect: () => void;
  #bytes = 0;

  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** Call this with the length of a piece that was decoded or encoded. The heap is collected once the caller has let go of it. */
  add(bytes: number): void {
    if (bytes < minPieceBytes) return;
    this.#bytes += bytes;
    if (this.#bytes < maxGarbageBytes) return;
    this.#bytes = 0;
    setImmediate(this.#collect);
  }
}

/** The count of the thread that loads this module. */
export const largeGarbage = new LargeGarbage(() => collectHeap('regular'));
