/** Parses the subprotocols that a WebSocket client offers, and builds the response to its handshake. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { isWebSocketRequest } from './stream-options.ts';
import { commandProtocol } from './translate-command.ts';
import { tunnelPrefix } from './translate-port-forward.ts';
import { acceptKey } from './websocket-frames.ts';

const suffix = '.k8s.io';

/** Reports whether the client offers v5, the only command protocol in which a client can end stdin. */
export function isCommandWebSocket(headers: IncomingHttpHeaders): boolean {
  return isWebSocketRequest(headers) && offered(headers).includes(commandProtocol);
}

/** Returns the protocols that the client offers to tunnel as SPDY inside the WebSocket. */
export function parseTunnelledProtocols(headers: IncomingHttpHeaders): string[] {
  if (!isWebSocketRequest(headers)) return [];
  return offered(headers)
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith(suffix))
    .map((name) => name.slice(tunnelPrefix.length));
}

/** Returns an error message for an invalid handshake, else null. */
export function findHandshakeFault(
  method: string,
  { 'sec-websocket-version': version, 'sec-websocket-key': key = '' }: IncomingHttpHeaders,
): string | null {
  if (method !== 'GET') return 'a WebSocket is asked for by GET';
  if (version !== '13') return 'a WebSocket is of version 13';
  // 16 bytes in base64.
  return /^[A-Za-z0-9+/]{22}==$/.test(key) ? null : 'the key of a WebSocket has 16 bytes';
}

export function webSocketHandshakeResponse(key: string, subprotocol: string): string {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(key)}`,
  ];
  if (subprotocol !== '') lines.push(`Sec-WebSocket-Protocol: ${subprotocol}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function offered(headers: IncomingHttpHeaders): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
}
