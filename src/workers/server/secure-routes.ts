/**
 * What the authenticated server serves: patterns of paths, each with its handler. Who asks was let in already; methods and the shape of
 * what is below a pattern are looked at here, with go-restful's answers. Upstream: NewServer of pkg/kubelet/server/server.go.
 */
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { HandlerSwitches } from '../../shared/contracts/server/settings.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import { replyHealthz } from '../../shared/health/healthz.ts';
import type { Exchange } from './listener.ts';
import type { ContainerLogs } from './logs/index.ts';
import { ServeMux } from './serve-mux.ts';
import { accepts, error, methodNotAllowed, notAcceptable, ok, restfulNotFound, type Reply } from '../../shared/http/reply.ts';
import { debugPrefixes, metricsPages, replyMetrics, type MetricsPage } from './routes.ts';
import type { Streaming } from './streaming/index.ts';
import type { RequestTarget } from './request-target.ts';

export interface RoutedRequest extends Omit<Exchange, 'connection'>, RequestTarget {
  readonly method: string;
}
/** Null: the handler has answered by itself. */
export type Handler = (asked: RoutedRequest) => Promise<Reply | null>;

/** Handlers that are files of their own. */
export interface ExtraHandlers {
  readonly systemLogs: Handler;
  readonly profiling: Handler;
  /** Null: there is none to set. */
  readonly verbosity: Handler | null;
  readonly flagz: Handler;
  /** Told what else is served. */
  readonly statusz: (roots: readonly string[]) => Handler;
}

export interface SecureRoutesOptions {
  readonly switches: HandlerSwitches;
  readonly health: () => HealthCheck[];
  readonly metrics: (page: MetricsPage) => Promise<string>;
  readonly resetHealthMetrics: () => Promise<void>;
  readonly main: Pick<MainApi, 'pods' | 'runningPods' | 'configz'>;
  readonly logs: ContainerLogs;
  readonly streaming: Streaming;
  readonly extra: ExtraHandlers;
}

/** Upstream's bound on an answer: its server's WriteTimeout. */
const longestAnswerMs = 4 * 3600 * 1000;

export function createSecureRoutes(options: SecureRoutesOptions): ServeMux<Handler> {
  const { health, main, switches } = options;
  const healthz: Handler = async ({ path, query }) => replyHealthz(path, query, health());
  const pods = objects('/pods', () => main.pods());
  const always: Record<string, Handler> = {
    '/healthz': healthz,
    '/healthz/': healthz,
    '/pods': pods,
    '/pods/': pods,
    ...Object.fromEntries(
      Object.entries(metricsPages).map(([path, page]): [string, Handler] => [
        path,
        async ({ method }) => replyMetrics(page, method, options),
      ]),
    ),
  };
  if (!switches.debugging) {
    const disabled: Handler = async () => error(405, 'Debug endpoints are disabled.');
    return new ServeMux({ ...always, ...Object.fromEntries(debugPrefixes.map((prefix) => [prefix, disabled])) });
  }
  const served = { ...always, ...debugHandlers(options) };
  return new ServeMux(switches.statusz ? { ...served, '/statusz': options.extra.statusz(new ServeMux(served).roots()) } : served);
}

function debugHandlers({ switches, main, logs, streaming, extra }: SecureRoutesOptions): Record<string, Handler> {
  const off =
    (message: string): Handler =>
    async () =>
      error(405, message);
  const configz: Handler = async () => {
    const reply = await answered(() => main.configz());
    return { ...reply, headers: { ...reply.headers, 'X-Content-Type-Options': 'nosniff' } };
  };
  const getOrPost = ['GET', 'POST'];
  const served: Record<string, Handler> = {
    ...below('/run', ['POST'], container, async (asked, target) => streaming.run(asked.request, asked.response, target, asked.query)),
    ...below('/exec', getOrPost, container, async (asked, target) => streaming.exec(asked, target)),
    ...below('/attach', getOrPost, container, async (asked, target) => streaming.attach(asked, target)),
    ...below('/portForward', getOrPost, sandbox, async (asked, target) => streaming.portForward(asked, target)),
    ...below('/containerLogs', ['GET'], containerOnly, async ({ request, response, query }, target) =>
      logs.serve(request, response, target, query),
    ),
    '/configz': configz,
    '/runningpods/': objects('/runningpods', () => main.runningPods()),
    '/logs/': switches.systemLogs ? extra.systemLogs : off('logs endpoint is disabled.'),
    '/debug/pprof/': switches.profiling ? extra.profiling : off('profiling endpoint is disabled.'),
    '/debug/flags/v': switches.debugFlags && extra.verbosity ? extra.verbosity : off('flags endpoint is disabled.'),
  };
  if (switches.checkpoint) {
    const checkpoint = below('/checkpoint', ['POST'], containerOnly, async ({ request, response, query }, target) =>
      streaming.checkpoint(request, response, target, query),
    );
    served['/checkpoint/'] = checkpoint['/checkpoint/']!;
  }
  if (switches.flagz) served['/flagz'] = extra.flagz;
  return served;
}

/** A list of API objects, as go-restful serves it. */
function objects(root: string, ask: () => Promise<string>): Handler {
  return async ({ method, path, request }) => {
    if (segmentsBelow(root, path).length > 0) return restfulNotFound;
    if (method !== 'GET') return methodNotAllowed('GET');
    return accepts(request.headers.accept, 'application/json') ? answered(ask) : notAcceptable('application/json');
  };
}

async function answered(ask: () => Promise<string>): Promise<Reply> {
  try {
    return ok(await ask(), 'application/json');
  } catch (err) {
    return error(500, messageOf(err));
  }
}

/** What the segments below a pattern name; null: nothing that is served. */
type ReadSegments<T> = (segments: readonly string[]) => T | null;

interface SandboxTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
}
interface ContainerTarget extends SandboxTarget {
  readonly container: string;
}

const containerOnly: ReadSegments<ContainerTarget> = (segments) => {
  const [namespace = '', pod = '', name = ''] = segments;
  return segments.length === 3 ? { namespace, pod, container: name } : null;
};
const container: ReadSegments<ContainerTarget> = (segments) => {
  const [namespace = '', pod = '', uid = '', name = ''] = segments;
  return segments.length === 4 ? { namespace, pod, uid, container: name } : containerOnly(segments);
};
const sandbox: ReadSegments<SandboxTarget> = (segments) => {
  const [namespace = '', pod = '', uid] = segments;
  if (segments.length !== 2 && segments.length !== 3) return null;
  return { namespace, pod, ...(uid !== undefined && { uid }) };
};

/** A handler that answers by itself, for as long as it takes. A stream has no such bound: it lifts it where it begins (join-connections.ts). */
function below<T>(
  root: string,
  methods: readonly string[],
  read: ReadSegments<T>,
  serve: (asked: RoutedRequest, target: T) => Promise<void>,
): Record<string, Handler> {
  const handler: Handler = async (asked) => {
    const target = read(segmentsBelow(root, asked.path));
    if (target === null) return restfulNotFound;
    if (!methods.includes(asked.method)) return methodNotAllowed(methods.join(', '));
    asked.request.socket.setTimeout(longestAnswerMs);
    await serve(asked, target);
    return null;
  };
  return { [root]: handler, [`${root}/`]: handler };
}

function segmentsBelow(root: string, path: string): string[] {
  return path.slice(root.length).split('/').filter(Boolean);
}
