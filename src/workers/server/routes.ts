/** The routes of the read-only server, and the routes that it shares with the authenticated server. Handlers return replies and send nothing. */
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import { isHealthz, replyHealthz } from '../../shared/health/healthz.ts';
import type { PlainRequest } from '../../shared/http/plain-request.ts';
import {
  accepts,
  error,
  inPieces,
  message,
  methodNotAllowed,
  movedTo,
  notAcceptable,
  notFound,
  ok,
  restfulNotFound,
  type Reply,
} from '../../shared/http/reply.ts';

export interface RouteSources {
  readonly health: () => HealthCheck[];
  /** Resets the metrics of `/metrics/slis`. */
  readonly resetHealthMetrics: () => Promise<void>;
  readonly metrics: (page: MetricsPage) => Promise<string | Iterable<string>>;
  /** Renders /stats/summary. Throws until the node was measured once. */
  readonly summary: (onlyCpuAndMemory: boolean) => string;
  readonly main: Pick<MainApi, 'pods'>;
}

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
/** The content type that Prometheus' Go client sends for its text format. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';
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
  if (path === '/pods' || path === '/pods/') return replyJSON(request, () => sources.main.pods());
  if (path === '/stats' || path.startsWith('/stats/')) return replyStats(method, path, request.query, request.accept, sources.summary);
  const page = metricsPages[path];
  if (page) return replyMetrics(page, method, sources);
  if (debugPrefixes.includes(`${path}/`)) return movedTo(`${path}/`);
  if (debugPrefixes.some((prefix) => path.startsWith(prefix))) return error(405, 'Debug endpoints are disabled.');
  return notFound;
}

/** A DELETE of `/metrics/slis` resets its metrics. */
export async function replyMetrics(
  page: MetricsPage,
  method: string,
  { metrics, resetHealthMetrics }: Pick<RouteSources, 'metrics' | 'resetHealthMetrics'>,
): Promise<Reply> {
  if (page !== 'slis' || method !== 'DELETE') {
    const text = await metrics(page);
    return typeof text === 'string' ? ok(text, metricsContentType) : inPieces(text, metricsContentType);
  }
  await resetHealthMetrics();
  return ok('metrics reset\n');
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
    return ok(summary(values.length === 1 && values[0] === 'true'), 'application/json');
  } catch (err) {
    return message(500, `Internal Error: ${messageOf(err)}`);
  }
}

async function replyJSON({ method, accept }: PlainRequest, getBody: () => Promise<string>): Promise<Reply> {
  if (method !== 'GET') return methodNotAllowed('GET');
  if (!accepts(accept, 'application/json')) return notAcceptable('application/json');
  try {
    return ok(await getBody(), 'application/json');
  } catch (err) {
    return error(500, messageOf(err));
  }
}
