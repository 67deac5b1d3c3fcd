/**
 * Deadlines of all probes behind one timer: a heap by due time. 10,000 probes would otherwise be as many timers, most of which are cancelled. A callback runs
 * once, never early. After a slice of callbacks the event loop runs, so that a burst of due probes delays no response of a running one.
 */
import { contain } from '../../../shared/faults/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface TimerEntry {
  readonly dueMs: number;
  readonly callback: () => void;
  /** The position in the heap; −1 when the entry has run or was cancelled. */
  index: number;
}

export interface TimerQueueOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called each time the timer fires, with the milliseconds that it fired too late. */
  readonly onFired?: (lateMs: number) => void;
}

/** Callbacks per slice. A callback takes about 50 µs: it opens a socket. */
const sliceLength = 32;

export class TimerQueue {
  readonly #options: TimerQueueOptions;
  readonly #heap: TimerEntry[] = [];
  /** The due time of the timer that is set; Infinity without one. */
  #setForMs = Infinity;
  #cancelTimer: () => void = () => {};
  /** Due callbacks run in slices, after which the timer is set again. */
  #isRunning = false;
  #isClosed = false;

  constructor(options: TimerQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#heap.length;
  }

  nowMs(): number {
    return this.#options.clock.monotonic();
  }

  /** Calls back at `dueMs` of the monotonic clock, or soon when that has passed. */
  at(dueMs: number, callback: () => void): TimerEntry {
    const entry: TimerEntry = { dueMs, callback, index: this.#heap.length };
    this.#heap.push(entry);
    this.#siftUp(entry);
    this.#setTimer();
    return entry;
  }

  /** Idempotent. */
  cancel(entry: TimerEntry | undefined): void {
    if (!entry || entry.index < 0) return;
    const { index } = entry;
    const last = this.#heap.pop()!;
    entry.index = -1;
    if (last === entry) return;
    this.#place(last, index);
    this.#siftUp(last);
    this.#siftDown(last);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
    this.#heap.length = 0;
  }

  #setTimer(): void {
    const dueMs = this.#heap[0]?.dueMs ?? Infinity;
    // A timer that is set too early does no harm: it finds nothing due.
    if (this.#isClosed || this.#isRunning || dueMs >= this.#setForMs) return;
    this.#cancelTimer();
    this.#setForMs = dueMs;
    const { clock } = this.#options;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonic()), () => this.#onTimer());
  }

  #onTimer(): void {
    const lateMs = this.#options.clock.monotonic() - this.#setForMs;
    this.#setForMs = Infinity;
    this.#options.onFired?.(lateMs);
    this.#isRunning = true;
    this.#runSlice();
  }

  #runSlice(): void {
    if (this.#isClosed) return;
    const nowMs = this.#options.clock.monotonic();
    for (let ran = 0; ran < sliceLength; ran += 1) {
      const first = this.#heap[0];
      if (!first || first.dueMs > nowMs) {
        this.#isRunning = false;
        this.#setTimer();
        return;
      }
      this.cancel(first);
      contain({ handler: 'probe timer', logger: this.#options.logger }, first.callback);
    }
    setImmediate(() => this.#runSlice());
  }

  #place(entry: TimerEntry, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #siftUp(entry: TimerEntry): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1]!;
      if (parent.dueMs <= entry.dueMs) return;
      this.#swap(entry, parent);
    }
  }

  #siftDown(entry: TimerEntry): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const child = right && left && right.dueMs < left.dueMs ? right : left;
      if (!child || entry.dueMs <= child.dueMs) return;
      this.#swap(entry, child);
    }
  }

  #swap(a: TimerEntry, b: TimerEntry): void {
    const { index } = a;
    this.#place(a, b.index);
    this.#place(b, index);
  }
}
