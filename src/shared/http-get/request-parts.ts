/**
 * The request of an HTTP probe as the probes thread sends it: path and headers. Pure. Upstream: formatURL and newProbeRequest in
 * pkg/probe/http/request.go.
 */
import type { Container } from '../kubernetes/api.ts';

type HttpHeader = NonNullable<NonNullable<NonNullable<Container['livenessProbe']>['httpGet']>['httpHeaders']>[number];

const userAgent = 'kube-probe/1.36';

/**
 * Returns the path with its query as it is sent: without a fragment, without the scheme and the host that a path may name, and without
 * characters that a request line can't have. Dot segments stay. A path with an invalid escape is one path: its `?` and `%` are escaped.
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
 * host of the address.
 */
export function requestHeaders(list: readonly HttpHeader[] = []): { readonly name: string; readonly value: string }[] {
  const given = (name: string) => list.find((header) => header.name.toLowerCase() === name);
  const accept = given('accept');
  const host = given('host');
  const isDropped = (header: HttpHeader) => {
    const name = header.name.toLowerCase();
    return (name === 'accept' && !accept?.value) || (name === 'host' && (header !== host || !host.value));
  };
  return [
    ...list.filter((header) => !isDropped(header)).map(({ name, value }) => ({ name, value })),
    ...(given('user-agent') ? [] : [{ name: 'User-Agent', value: userAgent }]),
    ...(accept ? [] : [{ name: 'Accept', value: '*/*' }]),
  ];
}
