/**
 * Parses the target of a request once, so that authorization and handlers use the same path. A path that is not clean is redirected before
 * authentication, as Go's ServeMux does; one that is not clean after unescaping is refused.
 */
import { badRequest, movedTo, type Reply } from '../../shared/http/reply.ts';

export interface RequestTarget {
  /** Decoded and absolute, without empty, `.` and `..` segments. Keeps a trailing slash. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export function parseRequestTarget(url: string): RequestTarget | Reply {
  const relative = url.replace(/^https?:\/\/[^/?]*/i, '');
  const queryStart = relative.indexOf('?');
  const escaped = queryStart < 0 ? relative : relative.slice(0, queryStart);
  const search = queryStart < 0 ? '' : relative.slice(queryStart + 1);
  if (!escaped.startsWith('/')) return badRequest;
  const clean = cleanPath(escaped);
  // A browser would interpret `/\host` as another host.
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

/** Go's path.Clean, but keeps a trailing slash. */
function cleanPath(path: string): string {
  const keptSegments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') keptSegments.pop();
    else if (segment !== '' && segment !== '.') keptSegments.push(segment);
  }
  if (keptSegments.length === 0) return '/';
  return `/${keptSegments.join('/')}${/\/\.{0,2}$/.test(path) ? '/' : ''}`;
}
