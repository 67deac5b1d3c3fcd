/** A GET as Go's net/http sends it. */
import { goQuote } from '../kubernetes/go-text.ts';
import { joinHostPort } from '../dial/socket-error.ts';

/** A request of a probe or a hook: the port is a number, host, path and headers are filled in (request-parts.ts). */
export interface HttpGetTarget {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Without TLS: HTTP/2 with prior knowledge. Absent: HTTP/1.1. */
  readonly protocol?: 'HTTP2';
}

export interface RequestURL {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Escaped, with the query. */
  readonly path: string;
}

export interface HttpRequest {
  readonly url: RequestURL;
  /** The probe's `Host` header. Empty: the URL's host. */
  readonly host: string;
  /** The names are in Go's canonical form: `X-Forwarded-For`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Go writes its own value of these, or none. */
const excludedHeaders = new Set(['Host', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

export function toHttpRequest({ scheme, host, port, path, headers }: HttpGetTarget): HttpRequest {
  const given = headers.map(({ name, value }) => [canonicalName(name), value] as const);
  return {
    url: { scheme, host, port, path },
    host: given.find(([name]) => name === 'Host')?.[1] ?? '',
    headers: given.filter(([name, value]) => !excludedHeaders.has(name) && !(name === 'User-Agent' && value === '')),
  };
}

/** The URL in messages. */
export function urlText({ scheme, host, port, path }: RequestURL): string {
  return `${scheme}://${joinHostPort(host, port)}${path}`;
}

/** Returns Go's text for the first fault of a request. Undefined: the request can be sent. A line break in a value would add headers, or a request. */
export function requestFault({ url, host, headers }: HttpRequest): string | undefined {
  for (const [name, value] of headers) {
    if (!isToken(name)) return `net/http: invalid header field name ${goQuote(name)}`;
    if (hasControlCharacter(value)) return `net/http: invalid header field value for ${goQuote(name)}`;
  }
  if (/[\t /]/.test(host) || hasControlCharacter(host)) return 'http: invalid Host header';
  return /\s/.test(url.path) || hasControlCharacter(url.path) ? "net/http: can't write control character in Request.URL" : undefined;
}

/** The request as text. The connection is used once. */
export function renderRequest({ url, host, headers }: HttpRequest): string {
  const target = url.path.startsWith('/') ? url.path : `/${url.path}`;
  const lines = headers.map(([name, value]) => `${name}: ${value.trim()}\r\n`).join('');
  // A request to change the protocol names the protocol in its own Connection header.
  const isUpgrade = headers.some(([name, value]) => name === 'Connection' && /\bupgrade\b/i.test(value));
  const close = isUpgrade ? '' : 'Connection: close\r\n';
  return `GET ${target} HTTP/1.1\r\nHost: ${host || joinHostPort(url.host, url.port)}\r\n${lines}${close}\r\n`;
}

/** Go's textproto.CanonicalMIMEHeaderKey: `x-forwarded-for` → `X-Forwarded-For`. */
function canonicalName(name: string): string {
  return isToken(name) ? name.toLowerCase().replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()) : name;
}

/** `token` of RFC 9110. */
function isToken(name: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(name);
}

function hasControlCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u0008\u000a-\u001f\u007f]/.test(text);
}
