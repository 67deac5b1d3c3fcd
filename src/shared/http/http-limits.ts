/** Limits per connection that every HTTP server of the kubelet sets. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Upstream's IdleTimeout. */
const keepAliveMs = 90_000;

export const httpLimits = {
  /** Go's server allows 1 MiB to everybody; a hundred unauthenticated clients could fill the heap with that. */
  maxHeaderSize: 64 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 5_000,
  insecureHTTPParser: false,
};

/** The limit of Go's server, for clients with a verified certificate: the API server sends the command of `kubectl exec` in the request line. */
export const verifiedClientHeaderBytes = 1024 * 1024;

/** A connection without traffic during a response is closed after this time. Streams set their own timeouts. */
export const stallTimeoutMs = 60_000;

/** Value for `maxHeadersCount`. Node drops headers beyond this number. */
export const maxHeaders = 256;

/**
 * Answers a request with too many headers, because Node may have dropped some of them. The response is Node's own for too large headers.
 * Returns true when the request was answered.
 */
export function refuseTooManyHeaders({ rawHeaders }: IncomingMessage, response: ServerResponse): boolean {
  // `rawHeaders` has names and values alternately.
  if (rawHeaders.length < 2 * maxHeaders) return false;
  response.writeHead(431, { Connection: 'close', 'Content-Length': 0 }).end();
  return true;
}
