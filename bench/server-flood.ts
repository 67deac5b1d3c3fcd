/**
 * Measures how unauthenticated clients that flood the secure port affect /healthz probes, an authorized client and the kubelet's memory. A
 * real API server reviews the tokens.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../src/shared/kubernetes/api.ts';
import { Flood } from './driver/flood.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { BenchCluster, namespace } from './harness/cluster.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { percentile } from './harness/statistics.ts';

const [idle, pipelining] = [1024, 10];
const floodMs = 60_000;
const [healthzPeriodMs, logPeriodMs, freshTokenPeriodMs, memoryPeriodMs] = [100, 500, 5_000, 500];
const goals = { healthzMs: 100, logMs: 1_000, rssMiB: 50 };
/** Timeout of one request. The benchmark fails when it expires. */
const timeoutMs = 60_000;
const mib = 1024 * 1024;
const podName = 'flooded';

export const benchmark: Benchmark = {
  name: 'server-flood',
  about: `The secure port, flooded for ${floodMs / 1000} s by unauthenticated clients: ${idle} connections that stay open after a 401 and are reopened when they are closed, and ${pipelining} that pipeline requests with 60 KB of headers and random tokens. Each measured request uses a new connection, from the same address as the flood. The floor is the same kubelet before the flood.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const kubelet = await cluster.join();
    context.onEnd(async () => kubelet.stop(() => cluster.driver.removeAll()));
    const pod = await cluster.createPod(podName);
    await cluster.pods.waitUntil('running', [podName], timeoutMs);
    await allowLogs(cluster);

    const healthz = () => timed(() => get(httpRequest, kubelet.healthz));
    const known = await cluster.podToken(pod);
    const log = (token: string) => timed(() => get(httpsRequest, logUrl(cluster, pod), authorized(token)));
    const fresh = async () => log(await cluster.podToken(pod));
    const deaths = async () =>
      [...(await kubelet.metrics()).matchAll(/^kubelet_thread_deaths_total\{.*\} (\d+)$/gm)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    const rss = async () => readProcessUsage(kubelet.pid).rssBytes;

    context.progress('before the flood …');
    await waitUntilAllowed(() => log(known));
    const before = {
      healthz: await repeatEvery(healthzPeriodMs, 5_000, healthz),
      log: await repeatEvery(logPeriodMs, 5_000, () => log(known)),
      rss: await rss(),
    };
    const flood = new Flood({ port: cluster.securePort, idle, pipelining });
    context.onEnd(() => flood.end());
    context.progress('the flood …');
    const [healthzMs, logMs, freshMs, rssBytes] = await Promise.all([
      repeatEvery(healthzPeriodMs, floodMs, healthz),
      repeatEvery(logPeriodMs, floodMs, () => log(known)),
      repeatEvery(freshTokenPeriodMs, floodMs, fresh),
      repeatEvery(memoryPeriodMs, floodMs, rss),
    ]);
    const counts = await flood.counts();
    await flood.end();
    const died = await deaths();
    const grownMiB = (Math.max(...rssBytes) - before.rss) / mib;
    const p99 = percentile(healthzMs, 99);
    const longestLogMs = Math.max(...logMs);
    return {
      repeats: `${healthzMs.length} probes, ${logMs.length} log requests, ${freshMs.length} more with a new token; the flood opened ${counts.opened} connections, of which the kubelet closed ${counts.closed}, and got ${counts.responses} responses`,
      measurements: [
        {
          what: '/healthz, p99',
          value: p99,
          unit: 'ms',
          floor: { what: 'no flood', value: percentile(before.healthz, 99) },
          goal: { text: `${goals.healthzMs} ms`, met: p99 <= goals.healthzMs },
        },
        {
          what: 'authorized log request, longest',
          value: longestLogMs,
          unit: 'ms',
          floor: { what: 'no flood', value: Math.max(...before.log) },
          goal: { text: `${goals.logMs} ms`, met: longestLogMs <= goals.logMs },
        },
        {
          what: 'authorized log request, p50',
          value: percentile(logMs, 50),
          unit: 'ms',
          floor: { what: 'no flood', value: percentile(before.log, 50) },
        },
        { what: 'authorized log request with a new token, longest', value: Math.max(...freshMs), unit: 'ms' },
        { what: 'threads that died', value: died, unit: '', goal: { text: 'none', met: died === 0 } },
        {
          what: 'growth of the resident memory',
          value: grownMiB,
          unit: 'MiB',
          goal: { text: `${goals.rssMiB} MiB`, met: grownMiB <= goals.rssMiB },
        },
      ],
    };
  },
};

/** Allows the service account of the benchmark's pods to read container logs. */
async function allowLogs({ api }: BenchCluster): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'bench-logs';
  await api.create(`${path}/clusterroles`, {
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }],
  });
  await api.create(`${path}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  });
}

function logUrl({ securePort }: BenchCluster, { metadata, spec }: Pod): string {
  return `https://127.0.0.1:${securePort}/containerLogs/${namespace}/${metadata.name}/${spec.containers[0]!.name}`;
}

function authorized(token: string): RequestOptions {
  return { headers: { Authorization: `Bearer ${token}` }, rejectUnauthorized: false };
}

/** Uses a new connection. Rejects for every status except 200. */
function get(request: typeof httpsRequest, url: string, options: RequestOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent: false, timeout: timeoutMs }, (response) => {
      response
        .resume()
        .once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${response.statusCode}`))));
    });
    sent.once('timeout', () => sent.destroy(new Error(`${url} did not answer within ${timeoutMs} ms`)));
    sent.once('error', reject).end();
  });
}

async function timed(act: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

/** Calls `act` periodically, never concurrently, and returns its results. */
async function repeatEvery(periodMs: number, forMs: number, act: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const next = performance.now() + periodMs;
    values.push(await act());
    await sleep(Math.max(0, next - performance.now()));
  }
  return values;
}

/** Retries, because the API server caches RBAC objects and the kubelet caches refusals. */
async function waitUntilAllowed(act: () => Promise<number>): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      await act();
      return;
    } catch (err) {
      if (performance.now() > end) throw err;
      await sleep(500);
    }
  }
}
