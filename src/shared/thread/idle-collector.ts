/**
 * Collects the heap of an idle thread, so that the memory of a burst is freed. V8 alone keeps the size that a heap grew to, on each of eight threads, until
 * there is memory pressure. Measured with 500 pods, 30 s after their starts: 326 MB resident without this, 276 MB with it.
 *
 * A collection takes about ten milliseconds. It runs only on a thread that has been idle for a while and whose heap has grown since the last collection.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { collectHeap } from '../heap/collect-heap.ts';

/**
 * The thread counts as idle when its utilization is below the limit, both over this many heartbeats (one per second) and during the last one. A thread that works
 * for 60 ms in each ten seconds, as the stats thread does, is idle in between.
 */
const windowBeats = 10;
const idleUtilization = 0.05;
/** The heap must have grown by this much since the last collection. */
const minGrowthBytes = 2 * 1024 * 1024;

export interface CollectedThread {
  /** The event loop's utilization since the last call, from 0 to 1. */
  utilization(): number;
  heapBytes(): number;
  collect(): void;
}

export class IdleCollector {
  readonly #thread: CollectedThread;
  readonly #onCollected: () => void;
  readonly #utilizations: number[] = [];
  /** The heap's size after the last collection. */
  #collectedBytes = 0;

  constructor(onCollected: () => void = () => {}, thread: CollectedThread = thisThread()) {
    this.#onCollected = onCollected;
    this.#thread = thread;
  }

  /** Call this once a second. */
  onBeat(): void {
    if (!this.#isIdle() || this.#thread.heapBytes() - this.#collectedBytes < minGrowthBytes) return;
    this.#utilizations.length = 0;
    this.#thread.collect();
    this.#collectedBytes = this.#thread.heapBytes();
    this.#onCollected();
  }

  #isIdle(): boolean {
    const last = this.#thread.utilization();
    this.#utilizations.push(last);
    if (this.#utilizations.length > windowBeats) this.#utilizations.shift();
    const sum = this.#utilizations.reduce((all, each) => all + each, 0);
    return this.#utilizations.length === windowBeats && last < idleUtilization && sum / windowBeats < idleUtilization;
  }
}

function thisThread(): CollectedThread {
  let lastUtilization = performance.eventLoopUtilization();
  return {
    utilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, lastUtilization);
      lastUtilization = now;
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: () => collectHeap('last-resort'),
  };
}
