/** What every HTTP server of the kubelet bounds for each of its connections. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Upstream's IdleTimeout. */
const keepAliveMs = 90_000;

export const httpLimits = {
  /** Go's server takes 1 MiB, which a hundred clients without credentials could make the whole heap. */
  maxHeaderSize: 64 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 5_000,
  insecureHTTPParser: false,
};

/** A client that takes nothing for so long, with an answer under way, is cut off. Streams have times of their own. */
export const stallTimeoutMs = 60_000;

/** Each costs its name, its value and their places. For `maxHeadersCount`: Node drops what is beyond. */
export const maxHeaders = 256;

/** Whether a request was answered here, since headers of it may have been dropped. As Node answers headers of too many bytes. */
export function refuseTooManyHeaders({ rawHeaders }: IncomingMessage, response: ServerResponse): boolean {
  if (rawHeaders.length < 2 * maxHeaders) return false;
  response.writeHead(431, { Connection: 'close', 'Content-Length': 0 }).end();
  return true;
}
