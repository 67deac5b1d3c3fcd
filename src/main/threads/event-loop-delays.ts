/**
 * How late main's event loop is, often enough for a percentile: the heartbeat of every thread looks once a second, which says that a
 * thread lives and little of how it serves. Main alone is watched closer: everything waits for it. Sampled by Node itself, without entering
 * JavaScript, and counted with each heartbeat.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { mainEventLoopDelay } from '../../shared/metrics/definitions/threads.ts';

/** A wait is seen shorter by as much as this, and one that is shorter may not be seen at all. */
const periodMs = 10;
const msPerNs = 1e-6;

export class EventLoopDelays {
  readonly #histogram = monitorEventLoopDelay({ resolution: periodMs });
  readonly #observe: (seconds: number) => void;

  constructor(observe = (seconds: number) => mainEventLoopDelay.observe(seconds)) {
    this.#observe = observe;
    this.#histogram.enable();
  }

  /** Counts what was sampled since the last time. */
  count(): void {
    for (const delayMs of sampledDelaysMs(this.#histogram)) this.#observe(delayMs / 1000);
    this.#histogram.reset();
  }

  stop(): void {
    this.#histogram.disable();
  }
}

/** Of it: the samples are the ns from one look to the next. */
export interface SampledLoop {
  readonly count: number;
  percentile(percent: number): number;
}

/** Each sample as a delay, from the longest on. Asking for one costs microseconds, so those below a millisecond are all taken for the first. */
export function* sampledDelaysMs(loop: SampledLoop): Generator<number> {
  let delayMs = Infinity;
  for (let rank = loop.count; rank > 0; rank -= 1) {
    if (delayMs > 1) delayMs = Math.max(0, loop.percentile((100 * rank) / loop.count) * msPerNs - periodMs);
    yield delayMs;
  }
}
