/**
 * Measures the delay of main's event loop often enough for a percentile. A heartbeat measures the delay of any thread once a second; main has this
 * measurement in addition, because all threads wait for main. Node takes the samples without running JavaScript; they are counted with each heartbeat.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { mainEventLoopDelay } from '../../shared/metrics/definitions/threads.ts';

/**
 * A sample may understate a delay by this much, and a shorter delay may be missed. Each sample wakes main: a period of 10 ms was a third of main's
 * CPU time on a node without pods.
 */
const periodMs = 50;
const msPerNs = 1e-6;

export class EventLoopDelays {
  readonly #histogram = monitorEventLoopDelay({ resolution: periodMs });
  readonly #observe: (seconds: number) => void;

  constructor(observe = (seconds: number) => mainEventLoopDelay.observe(seconds)) {
    this.#observe = observe;
    this.#histogram.enable();
  }

  /** Counts the samples since the last call. */
  count(): void {
    for (const delayMs of sampledDelaysMs(this.#histogram)) this.#observe(delayMs / 1000);
    this.#histogram.reset();
  }

  stop(): void {
    this.#histogram.disable();
  }
}

/** The part of Node's IntervalHistogram that is used. A sample is the time between two timers, in ns. */
export interface SampledLoop {
  readonly count: number;
  percentile(percent: number): number;
}

/**
 * Yields each sample as a delay, the longest first. Reading a percentile takes microseconds, so the longest delay below a
 * millisecond is read last, and stands for all shorter ones.
 */
export function* sampledDelaysMs(loop: SampledLoop): Generator<number> {
  let delayMs = Infinity;
  for (let rank = loop.count; rank > 0; rank -= 1) {
    if (delayMs > 1) delayMs = Math.max(0, loop.percentile((100 * rank) / loop.count) * msPerNs - periodMs);
    yield delayMs;
  }
}
