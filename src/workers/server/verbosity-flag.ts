/** `PUT /debug/flags/v`: sets the log verbosity of all threads. Upstream: StringFlagPutHandler of k8s.io/apiserver, logs.GlogSetter. */
import type { IncomingMessage } from 'node:http';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { setVerbosity } from '../../shared/log/live-verbosity.ts';
import type { Reply } from '../../shared/http/reply.ts';
import type { Handler } from './secure-routes.ts';

const maxBodyBytes = 1024;
const maxVerbosity = 2 ** 31 - 1;

export function createVerbosityHandler(cell: SharedArrayBuffer): Handler {
  return async ({ method, request }) => {
    if (method !== 'PUT') return plainText(406, 'unsupported http method');
    const text = await readBody(request);
    if (text === null) return { ...plainText(413, 'the body is too long for a number'), headers: { Connection: 'close' } };
    if (!/^\d+$/.test(text)) return plainText(400, `strconv.ParseUint: parsing ${goQuote(text)}: invalid syntax`);
    if (Number(text) > maxVerbosity) return plainText(400, `strconv.ParseUint: parsing ${goQuote(text)}: value out of range`);
    setVerbosity(cell, Number(text));
    return plainText(200, `successfully set klog.logging.verbosity to ${text}`);
  };
}

function plainText(status: number, body: string): Reply {
  return { status, headers: { 'Content-Type': 'text/plain', 'X-Content-Type-Options': 'nosniff' }, body };
}

/** Null when the body is too long. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Keeps the connection when the loop ends early, because a response is sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
