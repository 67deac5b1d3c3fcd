/**
 * The request of a probe or a lifecycle hook: host, port, path and headers. Pure. Upstream: NewRequestForHTTPGetAction in pkg/probe/http/request.go.
 */
import type { Container } from '../kubernetes/api.ts';
import type { HttpGetTarget } from './request.ts';
import { resolvePort } from './resolve-port.ts';
import { kubernetesMinor } from '../kubernetes/version.ts';

export type HttpGetAction = NonNullable<NonNullable<Container['livenessProbe']>['httpGet']>;
type HttpHeader = NonNullable<HttpGetAction['httpHeaders']>[number];

/** A part of the user agent. */
export type RequestPurpose = 'probe' | 'lifecycle';

/** `podIP` is the default host; the host may be empty when both are. Throws an Error with upstream's message when the port does not exist. */
export function toHttpGet(action: HttpGetAction, ports: Container['ports'], podIP: string, purpose: RequestPurpose): HttpGetTarget {
  return {
    scheme: action.scheme?.toLowerCase() === 'https' ? 'https' : 'http',
    host: action.host || podIP,
    port: resolvePort(action.port, ports),
    path: requestPath(action.path ?? ''),
    headers: requestHeaders(purpose, action.httpHeaders ?? []),
  };
}

/**
 * Returns the path with its query as it is sent: without a fragment, without the scheme and the host that a path may name, and without
 * characters that a request line can't have. Dot segments stay. In a path with an invalid escape, `%`, `?` and `#`
 * have no meaning and are escaped.
 */
export function requestPath(path: string): string {
  const [withoutFragment = ''] = path.toWellFormed().split('#', 1);
  if (/%(?![0-9a-f]{2})/i.test(withoutFragment.split('?', 1)[0]!)) {
    return absolute(escapeInvalid(path.toWellFormed().replaceAll('%', '%25').replaceAll('?', '%3F').replaceAll('#', '%23')));
  }
  const local = withoutFragment.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?]*/i, '');
  const queryStart = local.indexOf('?');
  const [name, query] = queryStart === -1 ? [local, ''] : [local.slice(0, queryStart), local.slice(queryStart)];
  return absolute(escapeInvalid(name)) + query.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function escapeInvalid(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
}

/**
 * Returns the headers with the default `User-Agent` and `Accept`. An empty `Accept` means none. `Host` is there at most once: it replaces the
 * host of the address. Upstream's transport for probes asks for no compression, the one for hooks does.
 */
export function requestHeaders(purpose: RequestPurpose, list: readonly HttpHeader[]): HttpGetTarget['headers'] {
  const given = (name: string) => list.find((header) => header.name.toLowerCase() === name);
  const accept = given('accept');
  const host = given('host');
  const isDropped = (header: HttpHeader) => {
    const name = header.name.toLowerCase();
    return (name === 'accept' && !accept?.value) || (name === 'host' && (header !== host || !host.value));
  };
  const isCompressible = purpose === 'lifecycle' && !given('accept-encoding')?.value && !given('range')?.value;
  return [
    ...list.filter((header) => !isDropped(header)).map(({ name, value }) => ({ name, value })),
    ...(given('user-agent') ? [] : [{ name: 'User-Agent', value: `kube-${purpose}/${kubernetesMinor}` }]),
    ...(accept ? [] : [{ name: 'Accept', value: '*/*' }]),
    ...(isCompressible ? [{ name: 'Accept-Encoding', value: 'gzip' }] : []),
  ];
}
