/** Converts the headers of a request to those of HTTP/2, as Go's http2.Transport does (httpcommon.EncodeHeaders). Pure. */
import { joinHostPort } from '../dial/socket-error.ts';
import { goQuote } from '../kubernetes/go-text.ts';
import type { HttpRequest } from './request.ts';

/** Headers about a connection of HTTP/1.1, which HTTP/2 forbids. */
const excluded = new Set(['connection', 'proxy-connection', 'transfer-encoding', 'upgrade', 'keep-alive']);

/** Returns Go's error text when a header makes sense in HTTP/1.1 only. Undefined: the request can be sent. */
export function http2Fault({ headers }: HttpRequest): string | undefined {
  const upgrades = valuesOf(headers, 'Upgrade');
  if (upgrades.length > 0 && upgrades[0] !== '' && upgrades[0] !== 'chunked')
    return `http2: invalid Upgrade request header: ${goList(upgrades)}`;
  const connections = valuesOf(headers, 'Connection');
  const isAllowed = connections.length === 0 || (connections.length === 1 && /^(?:close|keep-alive|)$/i.test(connections[0]!));
  return isAllowed ? undefined : `http2: invalid Connection request header: ${goList(connections)}`;
}

/** Returns names and values alternately, as node:http2 takes them. */
export function toHttp2Headers({ url, host, headers }: HttpRequest): string[] {
  const fields = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    // A server ends the stream for any other value.
    if (lower === 'te' && value.trim() !== 'trailers') return [];
    return excluded.has(lower) ? [] : [lower, value.trim()];
  });
  const path = url.path.startsWith('/') ? url.path : `/${url.path}`;
  return [':authority', host || joinHostPort(url.host, url.port), ':method', 'GET', ':path', path, ':scheme', url.scheme, ...fields];
}

function valuesOf(headers: HttpRequest['headers'], name: string): readonly string[] {
  return headers.filter(([other]) => other === name).map(([, value]) => value);
}

function goList(values: readonly string[]): string {
  return `[${values.map((value) => goQuote(value)).join(' ')}]`;
}
