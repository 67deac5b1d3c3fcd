/** From a client's connection to the runtime's, once the runtime has given a URL for it. Upstream: apimachinery's upgradeaware.go. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { dialRuntime } from './dial-runtime.ts';
import { forwardedHeaders } from './forwarded-headers.ts';
import type { StreamRequest, Upgrade } from './types.ts';
import { joinConnections, type StreamEnd } from './join-connections.ts';

/** For an answer of the runtime that is an error: upstream's. */
const errorRelayMs = 10_000;

export interface ProxyOptions {
  readonly url: string;
  readonly deadlineMs: number;
  readonly idleTimeoutMs: number;
  /** Aborted when the client is gone, or the server closes. */
  readonly signal: AbortSignal;
  /** Called when the runtime speaks the protocol, before the client's connection is read. */
  readonly onAnswer: () => void;
}

/** Resolves when the stream has ended, with who ended it; `refused`: the runtime answered with an error, which the client has. */
export async function proxyUpgrade(
  { request, response }: StreamRequest,
  { socket, head }: Upgrade,
  { url, deadlineMs, idleTimeoutMs, signal, onAnswer }: ProxyOptions,
): Promise<StreamEnd | 'refused'> {
  const client = socket as Socket;
  const answer = await dialRuntime({
    url,
    method: request.method ?? 'GET',
    headers: (host) => forwardedHeaders(request.headersDistinct, { host, peer: client.remoteAddress }),
    deadlineMs,
    signal,
  });
  if (signal.aborted) {
    answer.response.destroy();
    throw signal.reason;
  }
  if (!answer.upgraded) {
    const { statusCode = 0 } = answer.response;
    if (statusCode < 400) {
      answer.response.destroy();
      throw new Error(`invalid upgrade response: status code ${statusCode}`);
    }
    await relay(answer.response, response);
    return 'refused';
  }
  const runtime = answer.socket;
  runtime.on('error', () => runtime.destroy());
  const abort = () => {
    client.destroy();
    runtime.destroy();
  };
  signal.addEventListener('abort', abort);
  try {
    onAnswer();
    response.detachSocket(client);
    client.write(switchingHead(answer.response), 'latin1');
    if (answer.head.length > 0) client.write(answer.head);
    if (head.length > 0) runtime.write(head);
    return await joinConnections({ client, runtime, idleTimeoutMs });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The runtime's own, header by header. */
function switchingHead({ statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 101 ${statusMessage ?? STATUS_CODES[101]}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function relay(from: IncomingMessage, to: StreamRequest['response']): Promise<void> {
  const { 'content-type': type, 'retry-after': retryAfter } = from.headers;
  to.writeHead(from.statusCode ?? 500, {
    ...(type && { 'Content-Type': type }),
    ...(retryAfter && { 'Retry-After': retryAfter }),
    Connection: 'close',
  });
  // A client that doesn't take it is no fault of ours.
  await pipeline(from, to, { signal: AbortSignal.timeout(errorRelayMs) }).catch(() => to.destroy());
}
