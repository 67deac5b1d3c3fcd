/** Puts a reply on the wire: compressed for those who take it, whole, and with the rest of an unread body never taken for a request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from './reply.ts';

const compressFrom = 1024;
const compress = promisify(gzip);

export async function sendReply(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  let bytes: Buffer = Buffer.from(body);
  const compressed = bytes.length >= compressFrom && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  if (compressed) bytes = await compress(bytes);
  if (hasBody(request)) response.setHeader('Connection', 'close');
  response.writeHead(status, {
    ...headers,
    ...(compressed && { 'Content-Encoding': 'gzip' }),
    'Content-Length': bytes.length,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** The rest of a body that is not read would be taken for the next request. */
function hasBody({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}
