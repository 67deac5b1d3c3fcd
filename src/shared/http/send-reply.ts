/** Sends a reply, compressed when the client accepts gzip. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { Pieces, Reply } from './reply.ts';
import { acceptsGzip } from './accepts-gzip.ts';

const minCompressedBytes = 1024;
/**
 * A client that takes longer for a reply in pieces loses its connection, because the reply holds memory (`heldLength`), which is limited for all clients
 * together.
 */
const maxSendMs = 10 * 60_000;
const compress = promisify(gzip);

export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, pieces }: Reply,
): Promise<void> {
  const isGzipAccepted = acceptsGzip(request.headers['accept-encoding']?.toString());
  if (hasUnreadBody(request)) response.setHeader('Connection', 'close');
  if (pieces) {
    response.writeHead(status, { ...headers, ...(isGzipAccepted && { 'Content-Encoding': 'gzip' }) });
    return sendPieces(request, response, pieces, isGzipAccepted);
  }
  let bytes: Buffer = Buffer.from(body);
  const compressed = isGzipAccepted && bytes.length >= minCompressedBytes;
  if (compressed) bytes = await compress(bytes);
  response.writeHead(status, {
    ...headers,
    ...(compressed && { 'Content-Encoding': 'gzip' }),
    'Content-Length': bytes.length,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** Makes the next piece when the client has taken the pieces before and other requests were served. A client that leaves early is not an error. */
async function sendPieces(request: IncomingMessage, response: ServerResponse, pieces: Pieces, compressed: boolean): Promise<void> {
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const signal = AbortSignal.timeout(maxSendMs);
  try {
    await (compressed
      ? pipeline(takeTurns(pieces), createGzip(), response, { signal })
      : pipeline(takeTurns(pieces), response, { signal }));
  } catch (err) {
    if (!clientLeft.has((err as NodeJS.ErrnoException).code ?? '')) throw err;
  }
}

/** The errors of a stream whose client has closed the connection. */
const clientLeft = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ECONNRESET', 'EPIPE']);

async function* takeTurns(pieces: Pieces): AsyncGenerator<string | Uint8Array> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield piece;
    await setImmediate();
  }
}

/** The connection must close after an unread body: its bytes would be parsed as the next request. */
function hasUnreadBody({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}
