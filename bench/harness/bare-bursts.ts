/** Bursts of the bare driver at several parallelisms. The fastest one is the floor for a kubelet's burst. */
import type { CriDriver } from '../driver/cri-driver.ts';
import { IdleLoop } from '../driver/idle-loop.ts';
import type { BenchContext } from './benchmark.ts';
import { hostCpuSeconds } from './host-cpu.ts';
import { delaysBetween, type LoopDelays } from './loop-delay.ts';

export interface BareBurst {
  readonly parallelism: number;
  /** From the start of the burst until the first and the last container started, by the runtime's timestamps. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** CPU time of the whole host. */
  readonly cpuSeconds: number;
  /** Delays of an idle event loop during the burst. */
  readonly delays: LoopDelays;
}

export async function runBestBareBurst(
  context: BenchContext,
  driver: CriDriver,
  pods: number,
  parallelisms: readonly number[],
): Promise<BareBurst> {
  const bursts: BareBurst[] = [];
  const loop = new IdleLoop();
  context.onEnd(async () => loop.close());
  for (const parallelism of parallelisms) {
    const before = await loop.read();
    const [began, cpuBefore] = [Date.now(), hostCpuSeconds()];
    await driver.startPods(
      Array.from({ length: pods }, (_, index) => `bare-${parallelism}-${index}`),
      parallelism,
    );
    const cpuSeconds = hostCpuSeconds() - cpuBefore;
    const delays = delaysBetween(before, await loop.read());
    const running = await readStartTimesSince(driver, began, pods);
    bursts.push({ parallelism, firstMs: running[0]!, lastMs: running.at(-1)!, cpuSeconds, delays });
    context.progress(`bare driver, ${parallelism} at a time: ${Math.round(running.at(-1)!)} ms`);
    await driver.removeAll();
  }
  loop.close();
  return bursts.reduce((a, b) => (b.lastMs < a.lastMs ? b : a));
}

/** Returns the start times of all containers, ms after `beganMs` (wall clock), ascending. */
export async function readStartTimesSince(driver: CriDriver, beganMs: number, pods: number): Promise<readonly number[]> {
  const times = [...(await driver.startTimes()).values()].map((startedMs) => startedMs - beganMs).sort((a, b) => a - b);
  if (times.length !== pods) throw new Error(`${times.length} containers have started, not ${pods}`);
  return times;
}
