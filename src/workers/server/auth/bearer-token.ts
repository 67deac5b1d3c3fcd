/**
 * Extracts the bearer token of a request, from the Authorization header or from a WebSocket's subprotocols, because browsers can not set
 * headers for WebSockets. Upstream: apiserver pkg/authentication/request/{bearertoken,websocket}. Pure.
 */

/** `fault` is the reason why the token is invalid. Null when there is no token. */
export type WebSocketToken = { readonly token: string } | { readonly fault: string } | null;

export function parseBearerToken(authorization: string | undefined): string | null {
  const [scheme = '', token = ''] = (authorization ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : null;
}

const prefix = 'base64url.bearer.authorization.k8s.io.';

/** Returns the subprotocols without the one that carries the token. */
export function withoutToken(protocols: string): string {
  return namesOf(protocols)
    .filter((name) => !name.startsWith(prefix))
    .join(',');
}

/** The `Upgrade`, `Connection` and `Sec-WebSocket-Protocol` headers. */
export interface WebSocketHeaders {
  readonly upgrade?: string | undefined;
  readonly connection?: string | undefined;
  readonly protocols?: string | undefined;
}

export function parseWebSocketToken(headers: WebSocketHeaders): WebSocketToken {
  if (headers.upgrade?.toLowerCase() !== 'websocket' || !/\bupgrade\b/i.test(headers.connection ?? '')) return null;
  const names = namesOf(headers.protocols ?? '');
  const [encoded, ...more] = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  if (encoded === undefined) return null;
  if (more.length > 0) return { fault: 'multiple base64.bearer.authorization tokens specified' };
  if (!/^[\w-]*$/.test(encoded)) return { fault: 'invalid base64.bearer.authorization token encoding' };
  const bytes = Buffer.from(encoded, 'base64url');
  const token = bytes.toString('utf8');
  if (!Buffer.from(token).equals(bytes)) return { fault: 'invalid base64.bearer.authorization token' };
  if (token !== '' && names.length === 1) return { fault: 'missing additional subprotocol' };
  return token === '' ? null : { token };
}

function namesOf(protocols: string): string[] {
  return protocols
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
