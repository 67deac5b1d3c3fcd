/** What a kubelet uses while nothing changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessUsage } from './process-usage.ts';
import { percentile } from './statistics.ts';

export interface IdleUsage {
  readonly cores: number;
  /** Of all windows together: also what is done once a minute counts. */
  readonly meanCores: number;
  readonly rssMB: number;
  readonly processes: number;
}

/** Returns medians of the windows, so that one collection of a heap does not count. */
export async function readIdleUsage(
  pid: number,
  { windows, windowMs }: { readonly windows: number; readonly windowMs: number },
): Promise<IdleUsage> {
  const cores: number[] = [];
  const rss: number[] = [];
  const first = readProcessUsage(pid);
  const firstMs = performance.now();
  let before = first;
  for (let window = 0; window < windows; window += 1) {
    const began = performance.now();
    await sleep(windowMs);
    const now = readProcessUsage(pid);
    cores.push((now.cpuSeconds - before.cpuSeconds) / ((performance.now() - began) / 1000));
    rss.push(now.rssBytes / 1e6);
    before = now;
  }
  const meanCores = (before.cpuSeconds - first.cpuSeconds) / ((performance.now() - firstMs) / 1000);
  return { meanCores, cores: percentile(cores, 50), rssMB: percentile(rss, 50), processes: before.processes };
}
