/** Which path answers what, on each of the two servers: a request in, a reply out, nothing sent here. */
import type { IncomingMessage } from 'node:http';
import type { ServerUpcalls } from '../../shared/contracts/server.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from './health.ts';
import { replyHealthz } from './healthz.ts';
import { accepts, error, methodNotAllowed, movedTo, notAcceptable, notFound, ok, type Reply } from './reply.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

export interface Sources {
  readonly health: () => HealthCheck[];
  /** Of `/metrics/slis`. */
  readonly resetHealthMetrics: () => void;
  readonly metrics: (page: MetricsPage) => Promise<string>;
  readonly main: Pick<ServerUpcalls, 'pods'>;
}

/** Of the debug handlers, which the read-only server never has (upstream InstallDebuggingDisabledHandlers). */
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
/** Prometheus' text format, as its Go client announces it. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';
export type MetricsPage = 'all' | 'probes' | 'slis';
export const metricsPages: Readonly<Record<string, MetricsPage>> = {
  '/metrics': 'all',
  '/metrics/probes': 'probes',
  '/metrics/slis': 'slis',
};

/** The healthz port: upstream serves nothing else there. */
export async function replyOnHealthz({ path, query }: Request, { health }: Sources): Promise<Reply> {
  return isBelow(path, '/healthz') ? replyHealthz(path, query, health()) : notFound;
}

/** The read-only port. */
export async function replyOnReadOnly(request: Request, sources: Sources): Promise<Reply> {
  const { method, path } = request;
  if (isBelow(path, '/healthz')) return replyHealthz(path, request.query, sources.health());
  if (path === '/pods' || path === '/pods/') return replyJSON(request, () => sources.main.pods());
  const page = metricsPages[path];
  if (page) return replyMetrics(page, method, sources);
  if (debugPrefixes.includes(`${path}/`)) return movedTo(`${path}/`);
  if (debugPrefixes.some((prefix) => path.startsWith(prefix))) return error(405, 'Debug endpoints are disabled.');
  return notFound;
}

/** One page is for counting from now on, too. */
export async function replyMetrics(
  page: MetricsPage,
  method: string,
  { metrics, resetHealthMetrics }: Pick<Sources, 'metrics' | 'resetHealthMetrics'>,
): Promise<Reply> {
  if (page !== 'slis' || method !== 'DELETE') return ok(await metrics(page), metricsType);
  resetHealthMetrics();
  return ok('metrics reset\n');
}

async function replyJSON({ method, accept }: Request, ask: () => Promise<string>): Promise<Reply> {
  if (method !== 'GET') return methodNotAllowed('GET');
  if (!accepts(accept, 'application/json')) return notAcceptable('application/json');
  try {
    return ok(await ask(), 'application/json');
  } catch (err) {
    return error(500, messageOf(err));
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

/** A request to one of the plain servers. The target is split by hand: `new URL` throws for what clients may send (`//`, `http:`). */
export function parsePlain(request: IncomingMessage): Request {
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)),
    accept: request.headers.accept,
  };
}
