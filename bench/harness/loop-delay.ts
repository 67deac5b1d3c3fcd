/** The delays of main's event loop between two reads of `/metrics`, from the kubelet's histogram. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measurement } from './benchmark.ts';
import type { KubeletProgram } from '../../lab/kubelet/kubelet-program.ts';
import type { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';

/** Cumulative histogram: number of samples up to each bound in seconds, ascending. The last bound is Infinity. */
export type LoopDelays = readonly { readonly bound: number; readonly count: number }[];

const metric = 'kubelet_main_event_loop_delay_seconds';
/** Goals for the p99 on two cores. In a burst of starts, the runtime and its containers use both. */
const goalsMs = { burst: 50, otherwise: 20 };
/** The kubelet updates its histogram once a second. */
const updateMs = 1100;
const bucket = new RegExp(`^${metric}_bucket\\{le="([^"]+)"\\} (\\S+)$`, 'gm');

/** Waits until the histogram includes all samples. */
export async function readLoopDelays(kubelet: KubeletProcess): Promise<LoopDelays> {
  await sleep(updateMs);
  return parseLoopDelays(await kubelet.metrics());
}

/** Returns a function that reads the delays since this call. Returns none for another kubelet, which lacks the metric. */
export async function startLoopDelayReading(kubelet: KubeletProcess, program?: KubeletProgram): Promise<() => Promise<LoopDelays>> {
  if (program) return async () => [];
  const before = await readLoopDelays(kubelet);
  return async () => delaysBetween(before, await readLoopDelays(kubelet));
}

export function parseLoopDelays(metrics: string): LoopDelays {
  const delays = Array.from(metrics.matchAll(bucket), ([, bound, count]) => ({
    bound: bound === '+Inf' ? Infinity : Number(bound),
    count: Number(count),
  }));
  if (delays.length === 0) throw new Error(`the kubelet has no metric ${metric}`);
  return delays;
}

/** Returns the samples between two reads. Without `before`: since the kubelet's start. */
export function delaysBetween(before: LoopDelays | undefined, after: LoopDelays): LoopDelays {
  return after.map(({ bound, count }, index) => ({ bound, count: count - (before?.[index]?.count ?? 0) }));
}

/** Adds histograms with equal bounds. */
export function sumDelays(all: readonly LoopDelays[]): LoopDelays {
  const [first = [], ...rest] = all;
  return first.map(({ bound, count }, index) => ({ bound, count: rest.reduce((sum, delays) => sum + delays[index]!.count, count) }));
}

/** Returns the upper bound of the percentile in ms. */
export function delayPercentileMs(delays: LoopDelays, percent: number): number {
  const total = delays.at(-1)?.count ?? 0;
  if (total === 0) throw new Error('no samples of the event loop');
  return delays.find(({ count }) => count >= (percent / 100) * total)!.bound * 1000;
}

export interface LoopDelayRows {
  /** Selects the goal. Default: otherwise. */
  readonly load?: keyof typeof goalsMs;
  /** Delays of an idle process during the same time. */
  readonly floor?: { readonly what: string; readonly delays: LoopDelays };
}

/** Returns the table rows for the delays. */
export function loopDelayMeasurements(delays: LoopDelays, { load = 'otherwise', floor }: LoopDelayRows = {}): Measurement[] {
  const goalMs = goalsMs[load];
  const row = (what: string, percent: number) => ({
    what,
    value: delayPercentileMs(delays, percent),
    unit: 'ms',
    ...(floor && { floor: { what: floor.what, value: delayPercentileMs(floor.delays, percent) } }),
  });
  const p99 = row("main's event-loop delay p99, at most", 99);
  return [{ ...p99, goal: { text: `${goalMs} ms`, met: p99.value <= goalMs } }, row("main's longest event-loop delay, at most", 100)];
}
