/**
 * Gives back, in quiet times, the memory that a burst took: V8 keeps what its heap grew to, on each of eight threads, for as long as
 * nothing presses. Measured at 500 pods, 30 s after their starts: 326 MB resident without this, 276 MB with it.
 *
 * A collection takes some ten milliseconds of a thread that has had nothing to do for a while, and comes only when the heap has grown
 * since the last one.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Beats in a row, each a second, with the thread's event loop idle for nearly all of it. */
const quietBeats = 10;
const quietUtilization = 0.05;
/** Not worth a collection below that. */
const worthwhileBytes = 2 * 1024 * 1024;

export interface CollectedThread {
  /** The share of the time since the last call that the event loop was busy. */
  utilization(): number;
  heapBytes(): number;
  collect(): void;
}

export class QuietCollector {
  readonly #thread: CollectedThread;
  readonly #onCollected: () => void;
  #quiet = 0;
  /** The heap's size after the last collection. */
  #collectedBytes = 0;

  constructor(onCollected: () => void = () => {}, thread: CollectedThread = thisThread()) {
    this.#onCollected = onCollected;
    this.#thread = thread;
  }

  /** Once a second. */
  onBeat(): void {
    this.#quiet = this.#thread.utilization() < quietUtilization ? this.#quiet + 1 : 0;
    if (this.#quiet < quietBeats || this.#thread.heapBytes() - this.#collectedBytes < worthwhileBytes) return;
    this.#quiet = 0;
    this.#thread.collect();
    this.#collectedBytes = this.#thread.heapBytes();
    this.#onCollected();
  }
}

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/** V8 hands `gc` to contexts made after the flag was set. Not at a thread's start: nothing is to be given back then. */
function exposedCollect(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}

function thisThread(): CollectedThread {
  let collect: Collect | undefined;
  let last = performance.eventLoopUtilization();
  return {
    utilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: () => {
      collect ??= exposedCollect();
      collect({ type: 'major', flavor: 'last-resort' });
    },
  };
}
