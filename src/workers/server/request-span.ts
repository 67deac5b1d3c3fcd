/**
 * The span of an authorized request, with the attributes of Go's instrumentation (otelrestful). The span begins a new trace,
 * so that no client can have its requests sampled.
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Reply } from '../../shared/http/reply.ts';
import { currentSpan, runInSpan, type Attributes } from '../../shared/tracing/index.ts';

const scope = 'go.opentelemetry.io/contrib/instrumentation/github.com/emicklei/go-restful/otelrestful';

/** The path parameters of a container, and of a sandbox, by the number of segments below the root. */
const containerParameters = { 3: '{podNamespace}/{podID}/{containerName}', 4: '{podNamespace}/{podID}/{uid}/{containerName}' };
const sandboxParameters = { 2: '{podNamespace}/{podID}', 3: '{podNamespace}/{podID}/{uid}' };
const parameters: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  run: containerParameters,
  exec: containerParameters,
  attach: containerParameters,
  containerLogs: containerParameters,
  checkpoint: containerParameters,
  portForward: sandboxParameters,
  allocatedPods: { 2: '{podNamespace}/{podID}', 3: '{podNamespace}/{podID}/{podUID}' },
};

/** Web services whose own path is a route. Upstream's router ends such a route with a slash. */
const rootRoutes: ReadonlySet<string> = new Set(['pods', 'allocatedPods', 'runningpods', 'logs']);

/** Returns the route of a path, with names in place of its parameters. The routes are few, whatever clients request. */
export function routeOf(path: string): string {
  const [, root = '', ...segments] = path.split('/');
  const names = Object.hasOwn(parameters, root) ? parameters[root]?.[segments.length] : undefined;
  if (names !== undefined) return `/${root}/${names}`;
  if (root === 'logs' && segments.join('') !== '') return '/logs/{logpath:*}';
  if (rootRoutes.has(root)) return `/${root}/`;
  if (root === 'debug' && segments[0] === 'pprof') return '/debug/pprof/{subpath:*}';
  return Object.hasOwn(parameters, root) ? `/${root}` : path;
}

/** @param path of a route that exists, decoded */
export async function inRequestSpan(
  request: IncomingMessage,
  path: string,
  statusCode: () => number,
  run: () => Promise<Reply | null>,
): Promise<Reply | null> {
  return runInSpan(
    () => ({ scope, name: routeOf(path), kind: 'server', attributes: requestAttributes(request, path) }),
    async () => {
      const reply = await run();
      const status = reply?.status ?? statusCode();
      const span = currentSpan();
      span?.setAttributes({ 'http.response.status_code': status });
      if (status >= 500) span?.fail('');
      return reply;
    },
  );
}

function requestAttributes({ method = 'GET', socket, headers, httpVersion }: IncomingMessage, path: string): Attributes {
  const { remoteAddress, remotePort, localPort } = socket;
  // What the client claims; nothing but traces depends on it.
  const [forwardedFor = ''] = String(headers['x-forwarded-for'] ?? '').split(',', 1);
  return {
    'server.address': 'kubelet',
    ...(localPort !== undefined && { 'server.port': localPort }),
    'http.request.method': method,
    'url.scheme': (socket as TLSSocket).encrypted ? 'https' : 'http',
    'url.path': path,
    'http.route': routeOf(path),
    'network.protocol.version': httpVersion,
    ...(remoteAddress !== undefined && { 'network.peer.address': remoteAddress, 'client.address': forwardedFor.trim() || remoteAddress }),
    ...(remotePort !== undefined && { 'network.peer.port': remotePort }),
    ...(headers['user-agent'] !== undefined && { 'user_agent.original': headers['user-agent'] }),
  };
}
