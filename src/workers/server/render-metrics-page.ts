/** Renders the metrics pages: the threads' metrics, and metrics that are computed at the request (process, thread statuses). */
import { readdir, readFile } from 'node:fs/promises';
import {
  parseBootTime,
  parseMaxAddressSpace,
  parseMaxOpenFiles,
  parseNetstat,
  parseProcessStat,
  ticksPerSecond,
} from '../../shared/linux/procfs.ts';
import { definitions } from '../../shared/metrics/definitions/index.ts';
import * as sli from '../../shared/metrics/definitions/health.ts';
import { metricsProvider, registeredMetrics } from '../../shared/metrics/definitions/kubernetes.ts';
import * as processMetrics from '../../shared/metrics/definitions/process.ts';
import { metricsDroppedSeries, threadDeaths, threadStarts, threadUp } from '../../shared/metrics/definitions/threads.ts';
import { droppedSeries, renderMetrics } from '../../shared/metrics/index.ts';
import type { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { threadFault } from '../../shared/health/health.ts';

export interface MetricsSources {
  readonly segments: readonly SharedArrayBuffer[];
  readonly heartbeats: HeartbeatsReader;
  readonly monotonicMs: () => number;
  /** The metrics of the probes thread, which main relays. */
  readonly probeMetrics: () => Promise<Uint8Array>;
  /** The metrics of containers' logs. */
  readonly logMetrics: () => string;
  readonly metricsProvider: 'cadvisor' | 'cri';
}

const utf8 = new TextDecoder();

/** `all` is /metrics; `probes` and `slis` are separate pages, as upstream has them. */
export async function renderMetricsPage(page: 'all' | 'probes' | 'slis', sources: MetricsSources): Promise<string> {
  await observeProcess();
  if (page === 'slis') return renderMetrics(sources.segments, [...Object.values(sli), startTime]);
  if (page === 'probes') return `${utf8.decode(await sources.probeMetrics())}${renderMetrics(sources.segments, [startTime])}`;
  observeThreads(sources);
  for (const [stability, count] of registered) registeredMetrics.set(count, { stability_level: stability, deprecated_version: '' });
  metricsProvider.set(1, { provider: sources.metricsProvider });
  return `${renderMetrics(sources.segments, definitions)}${sources.logMetrics()}`;
}

/** On its other pages upstream registers the start time as a separate metric with a stability level. */
const startTime = { ...definitionOf(processMetrics.processStartTime), stability: 'ALPHA' as const };

function definitionOf({ name, help, type, labelNames, buckets, combine }: typeof processMetrics.processStartTime) {
  return { name, help, type, labelNames, buckets, combine };
}

/** Number of metrics by stability level. Metrics without one come from libraries in the Go kubelet, which does not count them. */
const registered = new Map<string, number>();
for (const { stability } of [...definitions, ...Object.values(sli)]) {
  if (stability !== 'none') registered.set(stability, (registered.get(stability) ?? 0) + 1);
}

function observeThreads({ heartbeats, segments, monotonicMs }: MetricsSources): void {
  for (const health of heartbeats.threads()) {
    if (health.starts === 0) continue;
    const { thread } = health;
    threadStarts.set(health.starts, { thread });
    threadDeaths.set(health.deaths, { thread });
    threadUp.set(health.alive === 1 && threadFault(health, monotonicMs()) === '' ? 1 : 0, { thread });
  }
  metricsDroppedSeries.set(droppedSeries(segments));
}

async function observeProcess(): Promise<void> {
  const read = (path: string) => readFile(path, 'utf8');
  const [stat, machine, limits, netstat, fds] = await Promise.all([
    read('/proc/self/stat'),
    read('/proc/stat'),
    read('/proc/self/limits'),
    read('/proc/self/net/netstat'),
    readdir('/proc/self/fd'),
  ]);
  const { user, system } = process.cpuUsage();
  const { startTicks, virtualMemoryBytes } = parseProcessStat(stat);
  processMetrics.processCpuSeconds.set((user + system) / 1e6);
  processMetrics.processResidentMemory.set(process.memoryUsage.rss());
  processMetrics.processVirtualMemory.set(virtualMemoryBytes);
  const maxAddressSpace = parseMaxAddressSpace(limits);
  // Without a limit Go's client shows the largest number of 64 bits.
  processMetrics.processVirtualMemoryMax.set(Number.isFinite(maxAddressSpace) ? maxAddressSpace : 2 ** 64);
  processMetrics.processNetworkReceived.set(parseNetstat(netstat, 'IpExt', 'InOctets'));
  processMetrics.processNetworkSent.set(parseNetstat(netstat, 'IpExt', 'OutOctets'));
  // One descriptor is that of the folder itself.
  processMetrics.processOpenFds.set(fds.length - 1);
  processMetrics.processMaxFds.set(parseMaxOpenFiles(limits));
  processMetrics.processStartTime.set(parseBootTime(machine) + startTicks / ticksPerSecond);
}
