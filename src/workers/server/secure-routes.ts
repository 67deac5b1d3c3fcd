/**
 * The routes of the authenticated server: path patterns and their handlers. Requests are authorized before. Methods and the segments below
 * a pattern are checked here, with go-restful's error responses. Upstream: NewServer of pkg/kubelet/server/server.go.
 */
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { HandlerSwitches } from '../../shared/contracts/server/settings.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import { replyHealthz } from '../../shared/health/healthz.ts';
import type { Exchange } from './listener.ts';
import type { ContainerLogs } from './logs/index.ts';
import { ServeMux } from './serve-mux.ts';
import { accepts, error, message, methodNotAllowed, notAcceptable, ok, restfulNotFound, type Reply } from '../../shared/http/reply.ts';
import { replyEviction } from './eviction/reply-eviction.ts';
import type { ReplyPodList } from './pod-lists/pod-lists.ts';
import { debugPrefixes, metricsPages, replyMetrics, replyStats, type MetricsRouteSources } from './routes.ts';
import type { Streaming } from './streaming/index.ts';
import type { RequestTarget } from './request-target.ts';

export interface RoutedRequest extends Omit<Exchange, 'connection'>, RequestTarget {
  readonly method: string;
}
/** Resolves to null when the handler has written the response itself. */
export type Handler = (routed: RoutedRequest) => Promise<Reply | null>;

/** Handlers from other modules. */
export interface ExtraHandlers {
  readonly systemLogs: Handler;
  readonly profiling: Handler;
  /** Null when the verbosity can not be changed at run time. */
  readonly verbosity: Handler | null;
  readonly flagz: Handler;
  readonly timeline: Handler;
  /** @param roots the first path segments of all other routes */
  readonly statusz: (roots: readonly string[]) => Handler;
}

export interface SecureRoutesOptions {
  readonly switches: HandlerSwitches;
  readonly health: () => HealthCheck[];
  readonly metrics: MetricsRouteSources;
  readonly summary: (onlyCpuAndMemory: boolean) => Iterable<string>;
  readonly podList: ReplyPodList;
  readonly main: Pick<MainApi, 'allocatedPod' | 'imageGcPlan' | 'evictionPlan' | 'configz'>;
  readonly logs: ContainerLogs;
  readonly streaming: Streaming;
  readonly extra: ExtraHandlers;
}

const timelineDisabledText = 'Debug endpoints are disabled. On the node, the command `kubelet timeline` shows timelines.';

/** Upstream's WriteTimeout. */
const maxResponseMs = 4 * 3600 * 1000;

export function createSecureRoutes(options: SecureRoutesOptions): ServeMux<Handler> {
  const { health, podList, switches } = options;
  const healthz: Handler = async ({ path, query }) => replyHealthz(path, query, health());
  const pods = objectList('/pods', () => podList('pods'));
  const stats: Handler = async ({ method, path, query, request }) =>
    replyStats(method, path, query, request.headers.accept, options.summary);
  const always: Record<string, Handler> = {
    '/stats': stats,
    '/stats/': stats,
    '/healthz': healthz,
    '/healthz/': healthz,
    '/pods': pods,
    '/pods/': pods,
    ...Object.fromEntries(
      Object.entries(metricsPages).map(([path, page]): [string, Handler] => [
        path,
        async ({ method, request }) => replyMetrics(page, { method, accept: request.headers.accept }, options.metrics),
      ]),
    ),
  };
  if (!switches.debugging) {
    const disabled: Handler = async () => error(405, 'Debug endpoints are disabled.');
    return new ServeMux({
      ...always,
      ...Object.fromEntries(debugPrefixes.map((prefix) => [prefix, disabled])),
      '/debug/timeline': async () => error(405, timelineDisabledText),
    });
  }
  const served = { ...always, ...debugHandlers(options) };
  return new ServeMux(switches.statusz ? { ...served, '/statusz': options.extra.statusz(new ServeMux(served).roots()) } : served);
}

function debugHandlers({ switches, main, podList, logs, streaming, extra }: SecureRoutesOptions): Record<string, Handler> {
  const disabledHandler =
    (message: string): Handler =>
    async () =>
      error(405, message);
  const configz: Handler = async () => {
    const reply = await toJSONReply(() => main.configz());
    return { ...reply, headers: { ...reply.headers, 'X-Content-Type-Options': 'nosniff' } };
  };
  const getOrPost = ['GET', 'POST'];
  const served: Record<string, Handler> = {
    ...subtree('/run', ['POST'], container, async (routed, target) => streaming.run(routed.request, routed.response, target, routed.query)),
    ...subtree('/exec', getOrPost, container, async (routed, target) => streaming.exec(routed, target)),
    ...subtree('/attach', getOrPost, container, async (routed, target) => streaming.attach(routed, target)),
    ...subtree('/portForward', getOrPost, sandbox, async (routed, target) => streaming.portForward(routed, target)),
    ...subtree('/containerLogs', ['GET'], containerOnly, async ({ request, response, query }, target) =>
      logs.serve(request, response, target, query),
    ),
    '/configz': configz,
    '/runningpods/': objectList('/runningpods', () => podList('runningPods')),
    // Upstream has no dry runs of image garbage collection and of evictions.
    '/debug/image-gc': objectList('/debug/image-gc', () => toJSONReply(() => main.imageGcPlan())),
    '/debug/eviction': async ({ method, query, request }) =>
      replyEviction((signal) => main.evictionPlan(signal), { method, query, accept: request.headers.accept }),
    '/logs/': switches.systemLogs ? extra.systemLogs : disabledHandler('logs endpoint is disabled.'),
    '/debug/pprof/': switches.profiling ? extra.profiling : disabledHandler('profiling endpoint is disabled.'),
    '/debug/timeline': extra.timeline,
    '/debug/flags/v': switches.debugFlags && extra.verbosity ? extra.verbosity : disabledHandler('flags endpoint is disabled.'),
  };
  if (switches.checkpoint) {
    const checkpoint = subtree('/checkpoint', ['POST'], containerOnly, async ({ request, response, query }, target) =>
      streaming.checkpoint(request, response, target, query),
    );
    served['/checkpoint/'] = checkpoint['/checkpoint/']!;
  }
  if (switches.allocatedPods) Object.assign(served, allocatedPodHandlers(main, podList));
  if (switches.flagz) served['/flagz'] = extra.flagz;
  return served;
}

/** Upstream: the routes of KubeletAllocatedPodsEndpoint in InstallAuthRequiredHandlers. */
function allocatedPodHandlers(main: SecureRoutesOptions['main'], podList: ReplyPodList): Record<string, Handler> {
  const root = '/allocatedPods';
  const list = objectList(root, () => podList('allocatedPods'));
  const handler: Handler = async (routed) => {
    const target = sandbox(segmentsBelow(root, routed.path));
    if (target === null) return list(routed);
    if (routed.method !== 'GET') return methodNotAllowed('GET');
    if (!accepts(routed.request.headers.accept, 'application/json')) return notAcceptable('application/json');
    const { namespace, pod: name, uid } = target;
    const pod = await main.allocatedPod({ namespace, name, ...(uid !== undefined && { uid }) });
    return pod === null ? message(404, 'pod not found') : ok(pod, 'application/json');
  };
  return { [root]: handler, [`${root}/`]: handler };
}

/** Serves a list of API objects as go-restful does. */
function objectList(root: string, getList: () => Promise<Reply>): Handler {
  return async ({ method, path, request }) => {
    if (segmentsBelow(root, path).length > 0) return restfulNotFound;
    if (method !== 'GET') return methodNotAllowed('GET');
    return accepts(request.headers.accept, 'application/json') ? getList() : notAcceptable('application/json');
  };
}

async function toJSONReply(getBody: () => Promise<string>): Promise<Reply> {
  try {
    return ok(await getBody(), 'application/json');
  } catch (err) {
    return error(500, messageOf(err));
  }
}

/** Parses the path segments below a pattern. Null: there is no such route. */
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

/**
 * Creates the routes of a handler that writes the response itself and may take up to `maxResponseMs`. A stream removes this timeout when
 * it starts (join-connections.ts).
 */
function subtree<T>(
  root: string,
  methods: readonly string[],
  read: ReadSegments<T>,
  serve: (routed: RoutedRequest, target: T) => Promise<void>,
): Record<string, Handler> {
  const handler: Handler = async (routed) => {
    const target = read(segmentsBelow(root, routed.path));
    if (target === null) return restfulNotFound;
    if (!methods.includes(routed.method)) return methodNotAllowed(methods.join(', '));
    routed.request.socket.setTimeout(maxResponseMs);
    await serve(routed, target);
    return null;
  };
  return { [root]: handler, [`${root}/`]: handler };
}

function segmentsBelow(root: string, path: string): string[] {
  return path.slice(root.length).split('/').filter(Boolean);
}
