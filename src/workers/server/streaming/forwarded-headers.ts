/**
 * Builds the headers of the request to the runtime. Only the headers that the stream protocols need are forwarded, which prevents request
 * smuggling and keeps credentials inside the kubelet. Upstream's upgradeaware.go forwards every header.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

const forwardedNames = [
  'upgrade',
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
  'origin',
  'user-agent',
] as const;

/** `host` is the runtime's, `peer` the client's address. */
interface ConnectionEnds {
  readonly host: string;
  readonly peer: string | undefined;
}

/** @param headersDistinct every value of every header, as Node provides them */
export function forwardedHeaders(headersDistinct: Readonly<NodeJS.Dict<string[]>>, connectionEnds: ConnectionEnds): OutgoingHttpHeaders {
  const headers = commonHeaders(headersDistinct, connectionEnds);
  for (const name of forwardedNames) {
    const [first, ...more] = headersDistinct[name] ?? [];
    if (first !== undefined) Object.assign(headers, { [name]: more.length === 0 ? first : [first, ...more] });
  }
  return headers;
}

/** Headers for a WebSocket client whose stream is translated to SPDY. */
export function spdyHeaders(
  headersDistinct: Readonly<NodeJS.Dict<string[]>>,
  connectionEnds: ConnectionEnds,
  protocols: readonly string[],
): OutgoingHttpHeaders {
  return { ...commonHeaders(headersDistinct, connectionEnds), Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': [...protocols] };
}

function commonHeaders(headersDistinct: Readonly<NodeJS.Dict<string[]>>, { host, peer }: ConnectionEnds): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { Host: host, Connection: 'Upgrade' };
  const chain = [...(headersDistinct['x-forwarded-for'] ?? []), ...(peer ? [peer] : [])];
  if (chain.length > 0) headers['X-Forwarded-For'] = chain.join(', ');
  return headers;
}

/** Upgrade requests with a body are refused: client and runtime could disagree on where the body ends. */
export function hasRequestBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
