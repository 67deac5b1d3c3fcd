/** Watches the sizes of the sync pool's threads, which they publish as metrics once a second. */
import { setTimeout as sleep } from 'node:timers/promises';

const periodMs = 1000;

/**
 * Returns a function that ends the watch, and resolves with the bytes by which the heap and the buffers of one thread have grown at most.
 * @param readMetrics resolves with the page of the kubelet's metrics
 */
export function watchSyncThreads(readMetrics: () => Promise<string>): () => Promise<number> {
  const stop = new AbortController();
  const first = new Map<string, number>();
  let grownBytes = 0;
  const watching = (async () => {
    while (!stop.signal.aborted) {
      for (const [thread, bytes] of syncThreadSizes(await readMetrics().catch(() => ''))) {
        if (!first.has(thread)) first.set(thread, bytes);
        grownBytes = Math.max(grownBytes, bytes - first.get(thread)!);
      }
      await sleep(periodMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  })();
  return async () => {
    stop.abort();
    await watching;
    if (first.size === 0) throw new Error('the kubelet has no metrics of its sync threads');
    return grownBytes;
  };
}

/** Returns bytes by thread, of the sync pool. */
export function syncThreadSizes(metrics: string): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  const pattern = /^kubelet_thread_(?:heap_used|external)_bytes\{thread="(pod-sync[^"]*)"\} (\S+)$/gm;
  for (const [, thread = '', bytes] of metrics.matchAll(pattern)) sizes.set(thread, (sizes.get(thread) ?? 0) + Number(bytes));
  return sizes;
}
