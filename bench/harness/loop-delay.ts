/** How late main's event loop was between two readings of `/metrics`, from the kubelet's own histogram. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measurement } from './benchmark.ts';
import type { KubeletProcess, KubeletProgram } from './kubelet-process.ts';

/** Of all samples of the event loop, those no later than each bound in seconds, ascending; the last bound is Infinity. */
export type LoopDelays = readonly { readonly bound: number; readonly count: number }[];

const metric = 'kubelet_main_event_loop_delay_seconds';
/** Of the p99 on two cores. In a burst of starts the runtime and its containers take both of them. */
const goalsMs = { burst: 50, otherwise: 20 };
/** The kubelet counts once a second. */
const countedMs = 1100;
const bucket = new RegExp(`^${metric}_bucket\\{le="([^"]+)"\\} (\\S+)$`, 'gm');

/** Everything until now is counted. */
export async function readLoopDelays(kubelet: KubeletProcess): Promise<LoopDelays> {
  await sleep(countedMs);
  return parseLoopDelays(await kubelet.metrics());
}

/** From now on, read when it is called. None of another kubelet, which has no such metric. */
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

/** The samples between two readings; without the first, since the kubelet's start. */
export function delaysBetween(before: LoopDelays | undefined, after: LoopDelays): LoopDelays {
  return after.map(({ bound, count }, index) => ({ bound, count: count - (before?.[index]?.count ?? 0) }));
}

/** Several of the same together. */
export function sumDelays(all: readonly LoopDelays[]): LoopDelays {
  const [first = [], ...rest] = all;
  return first.map(({ bound, count }, index) => ({ bound, count: rest.reduce((sum, delays) => sum + delays[index]!.count, count) }));
}

/** In ms, the bound below which that share of the samples lies. */
export function delayPercentileMs(delays: LoopDelays, percent: number): number {
  const total = delays.at(-1)?.count ?? 0;
  if (total === 0) throw new Error('no samples of the event loop');
  return delays.find(({ count }) => count >= (percent / 100) * total)!.bound * 1000;
}

export interface LoopDelayRows {
  /** Default: otherwise. */
  readonly load?: keyof typeof goalsMs;
  /** Of a process that had nothing to do meanwhile. */
  readonly floor?: { readonly what: string; readonly delays: LoopDelays };
}

/** The rows of a benchmark's table. */
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
