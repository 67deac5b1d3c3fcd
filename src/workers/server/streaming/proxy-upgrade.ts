/** Proxies an upgrade request of a client to the runtime's streaming URL. Upstream: apimachinery's upgradeaware.go. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { dialRuntime } from './dial-runtime.ts';
import { forwardedHeaders, spdyHeaders } from './forwarded-headers.ts';
import type { StreamRequest, Upgrade } from './streaming-interface.ts';
import { joinConnections, type StreamEnd } from './join-connections.ts';
import type { StreamTranslation } from './translation.ts';
import { webSocketHandshakeResponse } from './websocket-request.ts';

/** Deadline for relaying an error response of the runtime. The value is upstream's. */
const errorRelayMs = 10_000;

export interface ProxyOptions {
  readonly url: string;
  readonly deadlineMs: number;
  readonly idleTimeoutMs: number;
  /** Null when client and runtime use the same protocol. */
  readonly translation: StreamTranslation | null;
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
  /** Called when the runtime has accepted the upgrade, before the client's connection is read. */
  readonly onUpgraded: () => void;
}

/** Resolves when the stream has ended, with the side that ended it. `refused`: the runtime's error response was relayed to the client. */
export async function proxyUpgrade(
  { request, response }: StreamRequest,
  { socket, head }: Upgrade,
  { url, deadlineMs, idleTimeoutMs, translation, signal, onUpgraded }: ProxyOptions,
): Promise<StreamEnd | 'refused'> {
  const client = socket as Socket;
  const dialed = await dialRuntime({
    url,
    method: translation ? 'POST' : (request.method ?? 'GET'),
    headers: (host) => {
      const ends = { host, peer: client.remoteAddress };
      const clientHeaders = request.headersDistinct;
      return translation ? spdyHeaders(clientHeaders, ends, translation.protocols) : forwardedHeaders(clientHeaders, ends);
    },
    deadlineMs,
    signal,
  });
  if (signal.aborted) {
    dialed.response.destroy();
    throw signal.reason;
  }
  if (!dialed.upgraded) {
    const { statusCode = 0 } = dialed.response;
    if (statusCode < 400) {
      dialed.response.destroy();
      throw new Error(`invalid upgrade response: status code ${statusCode}`);
    }
    await relay(dialed.response, response);
    return 'refused';
  }
  const runtime = dialed.socket;
  runtime.on('error', () => runtime.destroy());
  if (translation && !/spdy\/3\.1/i.test(dialed.response.headers.upgrade ?? '')) {
    runtime.destroy();
    throw new Error('unable to upgrade: missing upgrade headers in response');
  }
  const abort = () => {
    client.destroy();
    runtime.destroy();
  };
  signal.addEventListener('abort', abort);
  try {
    onUpgraded();
    response.detachSocket(client);
    client.write(translation ? webSocketHead(request, dialed.response, translation) : switchingHead(dialed.response), 'latin1');
    if (translation) {
      client.write(translation.initialBytes.toClient);
      runtime.write(translation.initialBytes.toRuntime);
    }
    // Puts back the bytes that were read with the headers.
    if (dialed.head.length > 0) runtime.unshift(dialed.head);
    if (head.length > 0) client.unshift(head);
    return await joinConnections({ client, runtime, idleTimeoutMs, translation });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Repeats the head of the runtime's response. */
function switchingHead({ statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 101 ${statusMessage ?? STATUS_CODES[101]}`];
  for (let index = 0; index < rawHeaders.length; index += 2) lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function webSocketHead(
  { headers }: IncomingMessage,
  { headers: runtimeHeaders }: IncomingMessage,
  { subprotocol }: StreamTranslation,
): string {
  const chosenProtocol = runtimeHeaders['x-stream-protocol-version'];
  return webSocketHandshakeResponse(
    headers['sec-websocket-key'] ?? '',
    subprotocol(typeof chosenProtocol === 'string' ? chosenProtocol : ''),
  );
}

async function relay(from: IncomingMessage, to: StreamRequest['response']): Promise<void> {
  const { 'content-type': type, 'retry-after': retryAfter } = from.headers;
  to.writeHead(from.statusCode ?? 500, {
    ...(type && { 'Content-Type': type }),
    ...(retryAfter && { 'Retry-After': retryAfter }),
    Connection: 'close',
  });
  // Fails only when the client does not read the response.
  await pipeline(from, to, { signal: AbortSignal.timeout(errorRelayMs) }).catch(() => to.destroy());
}
