/** A request to a server without authentication. */
import type { IncomingMessage } from 'node:http';

export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

/** The target is split by hand: `new URL` throws for what clients may send (`//`, `http:`). */
export function parsePlainRequest(request: IncomingMessage): PlainRequest {
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)),
    accept: request.headers.accept,
  };
}
