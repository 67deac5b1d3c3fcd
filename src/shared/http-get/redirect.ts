/** Redirects of an HTTP probe: followed on the same host name only (upstream RedirectChecker in pkg/probe/http/http.go, and Go's http.Client). */
import { goQuote } from '../kubernetes/go-text.ts';
import { urlText, type HttpRequest } from './request.ts';

export type Redirect =
  | { readonly type: 'follow'; readonly request: HttpRequest }
  /** The response is the result. */
  | { readonly type: 'none' }
  | { readonly type: 'failed'; readonly url: string; readonly message: string };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
/** Go's limit. */
const maxRequests = 10;

export function isRedirect({ statusCode, location }: { readonly statusCode: number; readonly location: string }): boolean {
  return redirectStatuses.has(statusCode) && location !== '';
}

/** `requests` is the number of requests so far; `first` and `last` are the first and the last of them. */
export function computeRedirect(
  response: { readonly statusCode: number; readonly location: string },
  { first, last, requests }: { readonly first: HttpRequest; readonly last: HttpRequest; readonly requests: number },
): Redirect {
  if (!isRedirect(response)) return { type: 'none' };
  const { location } = response;
  const from = urlText(last.url);
  if (!URL.canParse(location, from)) return { type: 'failed', url: from, message: `failed to parse Location header ${goQuote(location)}` };
  const { protocol, hostname, port, pathname, search } = new URL(location, from);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (host !== first.url.host.toLowerCase()) return { type: 'none' };
  if (requests >= maxRequests) return { type: 'failed', url: location, message: `stopped after ${maxRequests} redirects` };
  const scheme = protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https')
    return { type: 'failed', url: location, message: `unsupported protocol scheme ${goQuote(scheme)}` };
  const url = { scheme, host, port: port === '' ? (scheme === 'https' ? 443 : 80) : Number(port), path: `${pathname}${search}` } as const;
  // As in Go: only a relative redirect keeps the `Host` header, and no `Referer` goes from https to http.
  const isRelative = !URL.canParse(location);
  const hasReferer = last.url.scheme === 'http' || scheme === 'https';
  const headers = first.headers.filter(([name]) => name !== 'Referer');
  return {
    type: 'follow',
    request: { url, host: isRelative ? last.host : '', headers: hasReferer ? [...headers, ['Referer', from]] : headers },
  };
}
