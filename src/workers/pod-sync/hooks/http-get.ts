/**
 * Sends the HTTP request of a lifecycle hook (upstream pkg/probe/http/request.go and pkg/kubelet/lifecycle/handlers.go). Any response is a
 * success, whatever its status. Certificates are not verified. Redirects are followed on the same host only.
 */
import { isIPv6 } from 'node:net';
import type { Container, LifecycleHandler } from '../../../shared/kubernetes/api.ts';

export interface HttpGetRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** Sends the request and discards the response. Rejects when no response arrives. */
export type HttpGet = (request: HttpGetRequest, signal: AbortSignal) => Promise<void>;

type HttpGetAction = NonNullable<LifecycleHandler['httpGet']>;

/** Builds the request; `podIP` is the default host. Throws an Error that names the port when the container does not have it. */
export function toHookRequest(action: HttpGetAction, ports: NonNullable<Container['ports']>, podIP: string): HttpGetRequest {
  const host = action.host || podIP;
  const url = new URL(`http://${isIPv6(host) ? `[${host}]` : host}:${resolvePort(action.port, ports)}`);
  const [path = '', ...query] = (action.path ?? '').split('?');
  url.pathname = path;
  url.search = query.length > 0 ? `?${query.join('?')}` : '';
  return { url: withScheme(url, (action.scheme ?? 'HTTP').toLowerCase()), headers: hookHeaders(action.httpHeaders ?? []) };
}

/** Returns the URL with another scheme and the same port, also when the port is the default of the old scheme. */
export function withScheme(url: URL, scheme: string): URL {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const changedURL = new URL(url);
  changedURL.protocol = `${scheme}:`;
  changedURL.port = port;
  return changedURL;
}

/** Accepts a number, the name of one of the container's ports, or a number as text. */
function resolvePort(port: unknown, ports: NonNullable<Container['ports']>): number {
  const namedPort = ports.find(({ name }) => typeof port === 'string' && name === port)?.containerPort;
  const number = namedPort ?? Number(port);
  if (!Number.isInteger(number) || number <= 0 || number > 65_535) throw new Error(`invalid port ${JSON.stringify(port)}`);
  return number;
}

function hookHeaders(list: NonNullable<HttpGetAction['httpHeaders']>): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const { name, value = '' } of list) {
    const key = name.toLowerCase();
    const previousValue = headers[key];
    headers[key] = previousValue === undefined ? value : [...(typeof previousValue === 'string' ? [previousValue] : previousValue), value];
  }
  headers['user-agent'] ??= 'kube-lifecycle/1.36';
  if (headers['accept'] === '') delete headers['accept'];
  else headers['accept'] ??= '*/*';
  return headers;
}

/** Bytes of a body that are read before the connection is closed (upstream maxRespBodyLength). */
const maxBodyBytes = 10 * 1024;
/** The limit of Go's http.Client. */
const maxRedirects = 10;
/** Go leaves the connect timeout to the kernel, which takes two minutes. */
const connectTimeoutMs = 30_000;

/** Loads undici at the first hook: most nodes run none. */
export const httpGet: HttpGet = async ({ url, headers }, signal) => {
  const { Agent } = await import('undici');
  const agent = new Agent({
    connect: { rejectUnauthorized: false, timeout: connectTimeoutMs },
    // The hook's own deadline is the signal.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    let target = url;
    for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
      const { origin, pathname, search } = target;
      const {
        statusCode,
        headers: responseHeaders,
        body,
      } = await agent.request({ origin, path: `${pathname}${search}`, method: 'GET', headers, signal });
      await body.dump({ limit: maxBodyBytes, signal });
      const { location } = responseHeaders;
      const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
      if (!isRedirect || typeof location !== 'string') return;
      const next = new URL(location, target);
      if (next.hostname !== target.hostname) return;
      target = next;
    }
    throw new Error(`stopped after ${maxRedirects} redirects`);
  } finally {
    void agent.destroy();
  }
};

/** Returns whether an HTTPS request got a plain HTTP response: OpenSSL finds no TLS record. */
export function isPlainHttpResponse(err: unknown): boolean {
  return err instanceof Error && (err as NodeJS.ErrnoException).code === 'ERR_SSL_WRONG_VERSION_NUMBER';
}
