/** Pods that do nothing, on containerd, and the scrapes of a cluster's monitoring meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CriDriver } from '../driver/cri-driver.ts';
import { benchPodSpec } from './containerd.ts';
import type { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';

const startTimeoutMs = 180_000;
/** metrics-server's period, and the usual one of Prometheus. */
const scrapes: readonly { readonly periodMs: number; readonly paths: readonly string[] }[] = [
  { periodMs: 15_000, paths: ['/metrics/resource'] },
  { periodMs: 30_000, paths: ['/metrics', '/metrics/cadvisor', '/metrics/probes'] },
];

/** Starts pods with one container each, and waits until the runtime runs `to` containers, those of earlier calls included. */
export async function startIdlePods(kubelet: KubeletProcess, driver: CriDriver, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) kubelet.writePod(`idle-${index}`, benchPodSpec);
  const end = performance.now() + startTimeoutMs;
  while ((await driver.runningContainers()) < to) {
    if (performance.now() > end) throw new Error(`not all pods ran after ${startTimeoutMs} ms:\n${kubelet.logTail()}`);
    await sleep(500);
  }
}

/** Reads the pages of metrics while `work` runs. A page that can't be read ends it with an error: the usage would be too small. */
export async function whileScraped<T>(kubelet: KubeletProcess, work: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const scraping = Promise.all(scrapes.map(({ periodMs, paths }) => scrape(kubelet, paths, periodMs, stop.signal)));
  try {
    return await Promise.race([work(), scraping.then(neverEnds)]);
  } finally {
    stop.abort();
  }
}

/** Scraping ends only with an error, or after the measurement. */
function neverEnds(): Promise<never> {
  return new Promise(() => {});
}

async function scrape(kubelet: KubeletProcess, paths: readonly string[], periodMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const path of paths) await kubelet.page(path);
    await sleep(periodMs, undefined, { signal }).catch(() => {});
  }
}
