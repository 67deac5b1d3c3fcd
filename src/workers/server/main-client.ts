/**
 * The client for main's API over Comlink. Each call has a deadline, the number of calls is limited, and concurrent calls without arguments
 * share one result: main may be busy, and requests must not accumulate copies of its response.
 */
import { wrap } from 'comlink';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { evictionSignals } from '../../shared/contracts/eviction.ts';
import type { ResolvedContainer, MainApi } from '../../shared/contracts/server/calls.ts';
import { podListNames } from '../../shared/contracts/server/pods.ts';
import { metricsFormats, type MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';

const deadlineMs = 10_000;
/** Upstream's sharedLookupTimeout for token lookups. Main retries within this time. */
const reviewDeadlineMs = 30_000;
/** As many as authorized connections (`connections` in open-secure-server.ts). */
const maxConcurrentCalls = 1024;

/** Calls reject when main does not respond within the deadline, and when too many calls wait. */
export function createMainClient(port: MessagePort): MainApi {
  const main = wrap<MainApi>(endpoint(port));
  let pending = 0;
  const boundedCall = async <T>(name: string, call: () => Promise<T>, withinMs = deadlineMs): Promise<T> => {
    if (pending >= maxConcurrentCalls) throw new Error(`too many calls to the main thread are pending, "${name}" is refused`);
    pending += 1;
    try {
      return await withDeadline(name, call(), withinMs);
    } finally {
      pending -= 1;
    }
  };
  return {
    podListUIDs: sharedPerList((list) => boundedCall('podListUIDs', () => main.podListUIDs(list))),
    podListItems: (list, uids) => boundedCall('podListItems', () => main.podListItems(list, uids)),
    allocatedPod: (query) => boundedCall('allocatedPod', async () => main.allocatedPod(query)),
    imageGcPlan: shared(() => boundedCall('imageGcPlan', () => main.imageGcPlan())),
    evictionPlan: sharedPerSignal((signal) => boundedCall('evictionPlan', () => main.evictionPlan(signal))),
    configz: shared(() => boundedCall('configz', () => main.configz())),
    flagz: shared(() => boundedCall('flagz', () => main.flagz())),
    probeMetrics: sharedPerFormat((format) => boundedCall('probeMetrics', () => main.probeMetrics(format))),
    runtimeMetrics: sharedPerFormat((format) => boundedCall('runtimeMetrics', () => main.runtimeMetrics(format))),
    resetHealthMetrics: shared(() => boundedCall('resetHealthMetrics', () => main.resetHealthMetrics())),
    podChanges: (cursor) => boundedCall('podChanges', () => main.podChanges(cursor)),
    listPodResources: (version) => boundedCall('listPodResources', async () => main.listPodResources(version)),
    getPodResources: (namespace, name) => boundedCall('getPodResources', () => main.getPodResources(namespace, name)),
    allocatableResources: shared(() => boundedCall('allocatableResources', () => main.allocatableResources())),
    reviewToken: (token) => boundedCall('reviewToken', () => main.reviewToken(token), reviewDeadlineMs),
    reviewAccess: (spec) => boundedCall('reviewAccess', () => main.reviewAccess(spec), reviewDeadlineMs),
    resolveContainer: (query) => boundedCall<ResolvedContainer>('resolveContainer', async () => main.resolveContainer(query)),
  };
}

function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null;
  return () => {
    pending ??= call().finally(() => (pending = null));
    return pending;
  };
}

function sharedPerList(call: MainApi['podListUIDs']): MainApi['podListUIDs'] {
  const calls = new Map(podListNames.map((list) => [list, shared(() => call(list))]));
  return async (list) => (calls.get(list) ?? (() => call(list)))();
}

function sharedPerFormat<T>(call: (format: MetricsFormat) => Promise<T>): (format: MetricsFormat) => Promise<T> {
  const calls = new Map(metricsFormats.map((format) => [format, shared(() => call(format))]));
  return async (format) => (calls.get(format) ?? (() => call(format)))();
}

function sharedPerSignal(call: MainApi['evictionPlan']): MainApi['evictionPlan'] {
  const calls = new Map([null, ...evictionSignals].map((signal) => [signal, shared(() => call(signal))]));
  return async (signal) => (calls.get(signal) ?? (() => call(signal)))();
}

async function withDeadline<T>(name: string, answer: Promise<T>, withinMs: number): Promise<T> {
  const settled = new AbortController();
  const timeout = sleep(withinMs, undefined, { signal: settled.signal }).then((): never => {
    throw new Error(`the main thread did not answer "${name}" within ${withinMs} ms`);
  });
  timeout.catch(() => {});
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    settled.abort();
  }
}
