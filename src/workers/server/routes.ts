/** The routes of the read-only server, and the routes that it shares with the authenticated server. Handlers return replies and send nothing. */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import { isHealthz, replyHealthz } from '../../shared/health/healthz.ts';
import { negotiate, type MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type { PlainRequest } from '../../shared/http/plain-request.ts';
import type { ReplyPodList } from './pod-lists/pod-lists.ts';
import {
  accepts,
  error,
  inPieces,
  message,
  methodNotAllowed,
  movedTo,
  notAcceptable,
  pageNotFound,
  ok,
  restfulNotFound,
  type Reply,
} from '../../shared/http/reply.ts';

export interface RouteSources {
  readonly health: () => HealthCheck[];
  /** Resets the metrics of `/metrics/slis`. */
  readonly resetHealthMetrics: () => Promise<void>;
  /** The feature gate NativeHistograms. */
  readonly nativeHistograms: boolean;
  readonly metrics: (page: MetricsPage, format: MetricsFormat) => Promise<Iterable<string | Uint8Array>>;
  /** Renders /stats/summary, in pieces. Throws until the node was measured once. */
  readonly summary: (onlyCpuAndMemory: boolean) => Iterable<string>;
  readonly podList: ReplyPodList;
}

export type MetricsRouteSources = Pick<RouteSources, 'metrics' | 'nativeHistograms' | 'resetHealthMetrics'>;

/** Paths of the debug handlers. The read-only server never serves them (upstream: InstallDebuggingDisabledHandlers). */
export const debugPrefixes = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/runningpods/',
  '/debug/pprof/',
  '/logs/',
];
export type MetricsPage = 'all' | 'probes' | 'slis' | 'resource' | 'cadvisor';
export const metricsPages: Readonly<Record<string, MetricsPage>> = {
  '/metrics': 'all',
  '/metrics/probes': 'probes',
  '/metrics/slis': 'slis',
  '/metrics/resource': 'resource',
  '/metrics/cadvisor': 'cadvisor',
};

/** Handles a request to the read-only server. */
export async function replyOnReadOnly(request: PlainRequest, sources: RouteSources): Promise<Reply> {
  const { method, path } = request;
  if (isHealthz(path)) return replyHealthz(path, request.query, sources.health());
  if (path === '/pods' || path === '/pods/') return replyPods(request, sources.podList);
  if (path === '/stats' || path.startsWith('/stats/')) return replyStats(method, path, request.query, request.accept, sources.summary);
  const page = metricsPages[path];
  if (page) return replyMetrics(page, request, sources);
  if (debugPrefixes.includes(`${path}/`)) return movedTo(`${path}/`);
  if (debugPrefixes.some((prefix) => path.startsWith(prefix))) return error(405, 'Debug endpoints are disabled.');
  return pageNotFound;
}

/** A DELETE of `/metrics/slis` resets its metrics. */
export async function replyMetrics(
  page: MetricsPage,
  { method, accept }: Pick<PlainRequest, 'method' | 'accept'>,
  { metrics, nativeHistograms, resetHealthMetrics }: MetricsRouteSources,
): Promise<Reply> {
  if (page === 'slis' && method === 'DELETE') {
    await resetHealthMetrics();
    return ok('metrics reset\n');
  }
  const { encoding, contentType } = negotiate(accept);
  const protobuf = nativeHistograms ? 'nativeProtobuf' : 'protobuf';
  return inPieces(await metrics(page, encoding === 'protobuf' ? protobuf : 'text'), contentType);
}

/** Upstream: CreateHandlers of pkg/kubelet/server/stats/handler.go. */
export function replyStats(
  method: string,
  path: string,
  query: URLSearchParams,
  accept: string | undefined,
  summary: RouteSources['summary'],
): Reply {
  if (path !== '/stats/summary' && path !== '/stats/summary/') return restfulNotFound;
  if (method !== 'GET' && method !== 'POST') return methodNotAllowed('GET, POST');
  if (!accepts(accept, 'application/json')) return notAcceptable('application/json');
  const values = query.getAll('only_cpu_and_memory');
  try {
    return inPieces(summary(values.length === 1 && values[0] === 'true'), 'application/json');
  } catch (err) {
    return message(500, `Internal Error: ${messageOf(err)}`);
  }
}

async function replyPods({ method, accept }: PlainRequest, podList: ReplyPodList): Promise<Reply> {
  if (method !== 'GET') return methodNotAllowed('GET');
  return accepts(accept, 'application/json') ? podList('pods') : notAcceptable('application/json');
}
