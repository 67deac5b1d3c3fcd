/**
 * The target of a request, read once: what is authorized and what is served are the same string. A path that leaves its place when it
 * is cleaned is redirected to the clean one as Go's mux does it, before anybody asks who wants it; one that hides that in escapes is refused.
 */
import { badRequest, movedTo, type Reply } from '../../shared/http/reply.ts';

export interface RequestTarget {
  /** Decoded, absolute, without empty, `.` and `..` segments; a slash at its end stays. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export function parseRequestTarget(url: string): RequestTarget | Reply {
  const relative = url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = relative.indexOf('?');
  const escaped = mark < 0 ? relative : relative.slice(0, mark);
  const search = mark < 0 ? '' : relative.slice(mark + 1);
  if (!escaped.startsWith('/')) return badRequest;
  const clean = cleanPath(escaped);
  // A browser takes `/\host` for another host.
  if (clean !== escaped) return movedTo(`${clean.replaceAll('\\', '%5C')}${search === '' ? '' : `?${search}`}`);
  let path: string;
  try {
    path = decodeURIComponent(escaped);
  } catch {
    return badRequest;
  }
  if (path.includes('\0') || cleanPath(path) !== path) return badRequest;
  return { path, query: new URLSearchParams(search) };
}

/** As Go's path.Clean, but a slash at the end stays. */
function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  if (kept.length === 0) return '/';
  return `/${kept.join('/')}${/\/\.{0,2}$/.test(path) ? '/' : ''}`;
}
