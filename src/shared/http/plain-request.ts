/** The parsed request of a server without authentication. */
import type { IncomingMessage } from 'node:http';

export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

/** Splits the target without `URL`, because `new URL` throws for some targets that clients may send (`//`, `http:`). */
export function parsePlainRequest(request: IncomingMessage): PlainRequest {
  const target = request.url ?? '/';
  const queryStart = target.indexOf('?');
  const path = queryStart < 0 ? target : target.slice(0, queryStart);
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(queryStart < 0 ? '' : target.slice(queryStart + 1)),
    accept: request.headers.accept,
  };
}
