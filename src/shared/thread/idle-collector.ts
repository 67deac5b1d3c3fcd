/**
 * Collects the heap of an idle thread, so that the memory of a burst is freed. V8 alone keeps the size that a heap grew to, on each of eight threads, until
 * there is memory pressure. Measured with 500 pods, 30 s after their starts: 326 MB resident without this, 276 MB with it.
 *
 * A collection takes about ten milliseconds. It runs only on a thread that has been idle for a while and whose heap has grown since the last collection.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The thread counts as idle after this many consecutive heartbeats (one per second) with a utilization below the limit. */
const requiredIdleBeats = 10;
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
  #idleBeats = 0;
  /** The heap's size after the last collection. */
  #collectedBytes = 0;

  constructor(onCollected: () => void = () => {}, thread: CollectedThread = thisThread()) {
    this.#onCollected = onCollected;
    this.#thread = thread;
  }

  /** Call this once a second. */
  onBeat(): void {
    this.#idleBeats = this.#thread.utilization() < idleUtilization ? this.#idleBeats + 1 : 0;
    if (this.#idleBeats < requiredIdleBeats || this.#thread.heapBytes() - this.#collectedBytes < minGrowthBytes) return;
    this.#idleBeats = 0;
    this.#thread.collect();
    this.#collectedBytes = this.#thread.heapBytes();
    this.#onCollected();
  }
}

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/** V8 exposes `gc` to contexts that are created after the flag is set. Called at the first collection, not at the thread's start. */
function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}

function thisThread(): CollectedThread {
  let collect: Collect | undefined;
  let lastUtilization = performance.eventLoopUtilization();
  return {
    utilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, lastUtilization);
      lastUtilization = now;
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: () => {
      collect ??= exposeCollect();
      collect({ type: 'major', flavor: 'last-resort' });
    },
  };
}
