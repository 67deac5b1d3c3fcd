/** The metrics pages: the threads' metrics, and metrics that are computed at the request (process, thread statuses, usage). */
import { readdir, readFile } from 'node:fs/promises';
import {
  parseBootTime,
  parseMaxAddressSpace,
  parseMaxOpenFiles,
  parseNetstat,
  parseProcessStat,
  ticksPerSecond,
} from '../../shared/linux/procfs.ts';
import { definitions } from '../../shared/metrics/definitions/all-definitions.ts';
import * as sli from '../../shared/metrics/definitions/health.ts';
import { metricsProvider, registeredMetrics } from '../../shared/metrics/definitions/kubernetes.ts';
import * as processMetrics from '../../shared/metrics/definitions/process.ts';
import { metricsDroppedSeries, threadDeaths, threadStarts, threadUp } from '../../shared/metrics/definitions/threads.ts';
import { encodeFamilies } from '../../shared/metrics/exposition/encode.ts';
import type { MetricFamily } from '../../shared/metrics/exposition/metric-family.ts';
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import { collectMetrics, droppedSeries } from '../../shared/metrics/index.ts';
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { threadFault } from '../../shared/health/health.ts';
import type { MetricsPage } from './routes.ts';
import type { StatsPages } from './stats/stats-pages.ts';

export interface MetricsSources {
  readonly segments: readonly SharedArrayBuffer[];
  readonly heartbeats: HeartbeatsReader;
  readonly monotonicMs: () => number;
  /** Main relays the metrics of the probes thread, and the runtime's own metrics of containers (undefined when the runtime has none). */
  readonly main: Pick<MainApi, 'probeMetrics' | 'runtimeMetrics'>;
  readonly stats: Pick<StatsPages, 'cadvisor' | 'machine' | 'resource' | 'logs' | 'volumes'>;
  readonly metricsProvider: 'cadvisor' | 'cri';
}

/** Returns the page in pieces, each made when it is read. */
export async function renderMetricsPage(
  page: MetricsPage,
  format: MetricsFormat,
  sources: MetricsSources,
): Promise<Iterable<string | Uint8Array>> {
  const { main, stats, segments } = sources;
  if (page === 'resource') return encodeFamilies(stats.resource(), format);
  if (page === 'cadvisor') {
    const runtimeMetrics = sources.metricsProvider === 'cri' ? await main.runtimeMetrics(format) : undefined;
    return runtimeMetrics ? joined(runtimeMetrics, encodeFamilies(stats.machine(), format)) : encodeFamilies(stats.cadvisor(), format);
  }
  await observeProcess();
  if (page === 'slis') return encodeFamilies(collectMetrics(segments, [...Object.values(sli), startTime]), format);
  if (page === 'probes') {
    return joined(await main.probeMetrics(format), encodeFamilies(collectMetrics(segments, [startTime]), format));
  }
  observeThreads(sources);
  for (const [stability, count] of registered) registeredMetrics.set(count, { stability_level: stability, deprecated_version: '' });
  metricsProvider.set(1, { provider: sources.metricsProvider });
  return encodeFamilies(allFamilies(sources), format);
}

function* allFamilies({ segments, stats }: MetricsSources): Generator<MetricFamily> {
  yield* collectMetrics(segments, definitions);
  yield* stats.logs();
  yield* stats.volumes();
}

function* joined(first: Uint8Array, rest: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  yield first;
  yield* rest;
}

/** The process' start time on the pages `slis` and `probes`, where upstream registers it as a separate metric with a stability level. */
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
  // Without a limit Go's client shows the largest 64-bit number, 2^64 − 1, which is 2^64 as a double.
  processMetrics.processVirtualMemoryMax.set(Number.isFinite(maxAddressSpace) ? maxAddressSpace : 2 ** 64);
  processMetrics.processNetworkReceived.set(parseNetstat(netstat, 'IpExt', 'InOctets'));
  processMetrics.processNetworkSent.set(parseNetstat(netstat, 'IpExt', 'OutOctets'));
  // One of the descriptors is that of the open folder itself.
  processMetrics.processOpenFds.set(fds.length - 1);
  processMetrics.processMaxFds.set(parseMaxOpenFiles(limits));
  processMetrics.processStartTime.set(parseBootTime(machine) + startTicks / ticksPerSecond);
}
