/**
 * The head of the request to the runtime, made anew: only what the protocols of the streams need goes on, so that nothing a client sends
 * is read in two ways, and no credential leaves the kubelet. Upstream's upgradeaware.go hands on every header.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

const known = [
  'upgrade',
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
  'origin',
  'user-agent',
] as const;

/** Who is asked: `host`, the runtime's own; and who asks. */
interface ConnectionEnds {
  readonly host: string;
  readonly peer: string | undefined;
}

/** `headersDistinct` is Node's: every value of every header. */
export function forwardedHeaders(headersDistinct: Readonly<NodeJS.Dict<string[]>>, ends: ConnectionEnds): OutgoingHttpHeaders {
  const headers = commonHeaders(headersDistinct, ends);
  for (const name of known) {
    const [first, ...more] = headersDistinct[name] ?? [];
    if (first !== undefined) Object.assign(headers, { [name]: more.length === 0 ? first : [first, ...more] });
  }
  return headers;
}

/** For a client that speaks WebSocket, where the runtime is to speak SPDY. */
export function spdyHeaders(
  headersDistinct: Readonly<NodeJS.Dict<string[]>>,
  ends: ConnectionEnds,
  protocols: readonly string[],
): OutgoingHttpHeaders {
  return { ...commonHeaders(headersDistinct, ends), Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': [...protocols] };
}

function commonHeaders(headersDistinct: Readonly<NodeJS.Dict<string[]>>, { host, peer }: ConnectionEnds): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { Host: host, Connection: 'Upgrade' };
  const chain = [...(headersDistinct['x-forwarded-for'] ?? []), ...(peer ? [peer] : [])];
  if (chain.length > 0) headers['X-Forwarded-For'] = chain.join(', ');
  return headers;
}

/** A body before the other protocol begins: the two ends could disagree on where it ends. */
export function hasRequestBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
