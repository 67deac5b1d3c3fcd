/**
 * The HTTP request of a lifecycle hook (upstream pkg/probe/http/request.go and pkg/kubelet/lifecycle/handlers.go): any answer is a success,
 * whatever its status; certificates are not checked; redirects are followed on the same host only.
 */
import { isIPv6 } from 'node:net';
import type { Container, LifecycleHandler } from '../../../shared/kubernetes/api.ts';

export interface HttpGetRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** Sends it, and reads what matters of the answer: nothing. Rejects when no answer came. */
export type HttpGet = (request: HttpGetRequest, signal: AbortSignal) => Promise<void>;

type HttpGetAction = NonNullable<LifecycleHandler['httpGet']>;

/** `podIP` stands in where the action names no host. Throws naming the port that cannot be found. */
export function hookRequest(action: HttpGetAction, ports: NonNullable<Container['ports']>, podIP: string): HttpGetRequest {
  const host = action.host || podIP;
  const url = new URL(`http://${isIPv6(host) ? `[${host}]` : host}:${resolvePort(action.port, ports)}`);
  const [path = '', ...query] = (action.path ?? '').split('?');
  url.pathname = path;
  url.search = query.length > 0 ? `?${query.join('?')}` : '';
  return { url: withScheme(url, (action.scheme ?? 'HTTP').toLowerCase()), headers: hookHeaders(action.httpHeaders ?? []) };
}

/** The same address by another scheme; the port stays as it is written, also where it is the scheme's own. */
export function withScheme(url: URL, scheme: string): URL {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const other = new URL(url);
  other.protocol = `${scheme}:`;
  other.port = port;
  return other;
}

/** A number, the name of one of the container's ports, or a number written as text. */
function resolvePort(port: unknown, ports: NonNullable<Container['ports']>): number {
  const named = ports.find(({ name }) => typeof port === 'string' && name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number) || number <= 0 || number > 65_535) throw new Error(`invalid port ${JSON.stringify(port)}`);
  return number;
}

function hookHeaders(list: NonNullable<HttpGetAction['httpHeaders']>): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const { name, value = '' } of list) {
    const key = name.toLowerCase();
    const before = headers[key];
    headers[key] = before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value];
  }
  headers['user-agent'] ??= 'kube-lifecycle/1.36';
  if (headers['accept'] === '') delete headers['accept'];
  else headers['accept'] ??= '*/*';
  return headers;
}

/** As much of a body as is read before the connection is dropped (upstream maxRespBodyLength). */
const maxBodyBytes = 10 * 1024;
/** Go's http.Client gives up after as many. */
const maxRedirects = 10;
/** A host that does not answer at all; Go leaves it to the kernel, which takes two minutes. */
const connectTimeoutMs = 30_000;

/** Through undici, which is loaded at the first hook: most nodes never see one. */
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
        headers: answer,
        body,
      } = await agent.request({ origin, path: `${pathname}${search}`, method: 'GET', headers, signal });
      await body.dump({ limit: maxBodyBytes, signal });
      const { location } = answer;
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

/** An HTTPS request was answered in plain HTTP: OpenSSL finds no TLS record. */
export function isPlainHttpAnswer(err: unknown): boolean {
  return err instanceof Error && (err as NodeJS.ErrnoException).code === 'ERR_SSL_WRONG_VERSION_NUMBER';
}
