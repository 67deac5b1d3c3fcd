/** Sends a reply, compressed when the client accepts gzip. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from './reply.ts';

const minCompressedBytes = 1024;
const compress = promisify(gzip);

export async function sendReply(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  let bytes: Buffer = Buffer.from(body);
  const compressed = bytes.length >= minCompressedBytes && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  if (compressed) bytes = await compress(bytes);
  if (hasUnreadBody(request)) response.setHeader('Connection', 'close');
  response.writeHead(status, {
    ...headers,
    ...(compressed && { 'Content-Encoding': 'gzip' }),
    'Content-Length': bytes.length,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** The connection must close after an unread body: its bytes would be parsed as the next request. */
function hasUnreadBody({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}
