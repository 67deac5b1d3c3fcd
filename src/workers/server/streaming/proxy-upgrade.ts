/** From a client's connection to the runtime's, once the runtime has given a URL for it. Upstream: apimachinery's upgradeaware.go. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { dialRuntime } from './dial-runtime.ts';
import { forwardedHeaders, spdyHeaders } from './forwarded-headers.ts';
import type { StreamRequest, Upgrade } from './types.ts';
import { joinConnections, type StreamEnd } from './join-connections.ts';
import type { StreamTranslation } from './translation.ts';
import { webSocketHandshakeResponse } from './websocket-request.ts';

/** For an answer of the runtime that is an error: upstream's. */
const errorRelayMs = 10_000;

export interface ProxyOptions {
  readonly url: string;
  readonly deadlineMs: number;
  readonly idleTimeoutMs: number;
  /** Null: client and runtime speak the same. */
  readonly translation: StreamTranslation | null;
  /** Aborted when the client is gone, or the server closes. */
  readonly signal: AbortSignal;
  /** Called when the runtime speaks the protocol, before the client's connection is read. */
  readonly onAnswer: () => void;
}

/** Resolves when the stream has ended, with who ended it; `refused`: the runtime answered with an error, which the client has. */
export async function proxyUpgrade(
  { request, response }: StreamRequest,
  { socket, head }: Upgrade,
  { url, deadlineMs, idleTimeoutMs, translation, signal, onAnswer }: ProxyOptions,
): Promise<StreamEnd | 'refused'> {
  const client = socket as Socket;
  const answer = await dialRuntime({
    url,
    method: translation ? 'POST' : (request.method ?? 'GET'),
    headers: (host) => {
      const ends = { host, peer: client.remoteAddress };
      const given = request.headersDistinct;
      return translation ? spdyHeaders(given, ends, translation.protocols) : forwardedHeaders(given, ends);
    },
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
  if (translation && !/spdy\/3\.1/i.test(answer.response.headers.upgrade ?? '')) {
    runtime.destroy();
    throw new Error('unable to upgrade: missing upgrade headers in response');
  }
  const abort = () => {
    client.destroy();
    runtime.destroy();
  };
  signal.addEventListener('abort', abort);
  try {
    onAnswer();
    response.detachSocket(client);
    client.write(translation ? webSocketHead(request, answer.response, translation) : switchingHead(answer.response), 'latin1');
    if (translation) {
      client.write(translation.initialBytes.toClient);
      runtime.write(translation.initialBytes.toRuntime);
    }
    // Read again, as the first of what comes.
    if (answer.head.length > 0) runtime.unshift(answer.head);
    if (head.length > 0) client.unshift(head);
    return await joinConnections({ client, runtime, idleTimeoutMs, translation });
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

function webSocketHead({ headers }: IncomingMessage, { headers: answered }: IncomingMessage, { subprotocol }: StreamTranslation): string {
  const chosen = answered['x-stream-protocol-version'];
  return webSocketHandshakeResponse(headers['sec-websocket-key'] ?? '', subprotocol(typeof chosen === 'string' ? chosen : ''));
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
