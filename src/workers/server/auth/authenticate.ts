/**
 * Authenticates a request by client certificate, then by bearer token, then as anonymous if the node allows that. A request with only
 * invalid credentials is not anonymous; one valid credential is enough. Upstream: authenticatorfactory.DelegatingAuthenticatorConfig of
 * k8s.io/apiserver.
 */
import type { IncomingMessage } from 'node:http';
import { parseBearerToken, parseWebSocketToken, withoutToken } from './bearer-token.ts';
import { anonymous, noCredentials, withAuthenticatedGroup, type AuthenticationResult } from './user.ts';

export type TokenAuthenticator = (token: string, request: IncomingMessage) => Promise<AuthenticationResult>;

export interface AuthenticationSources {
  /** Null when no client CA is configured. */
  readonly certificate: ((request: IncomingMessage) => AuthenticationResult) | null;
  /** Null when tokens are not accepted. */
  readonly token: TokenAuthenticator | null;
  readonly anonymous: boolean;
}

/** The caller answers `busy` with 429 and everything else but `user` with 401. The message is for the log. Never rejects. */
export async function authenticate(request: IncomingMessage, sources: AuthenticationSources): Promise<AuthenticationResult> {
  const errors: string[] = [];
  const { certificate, token } = sources;
  const authenticators = [certificate, token && byHeader(token), token && byWebSocket(token)];
  for (const authenticator of authenticators) {
    const result = authenticator ? await authenticator(request) : noCredentials;
    if (result.type === 'user') return { type: 'user', user: withAuthenticatedGroup(result.user) };
    if (result.type === 'busy') return result;
    if (result.type === 'error') errors.push(result.message);
  }
  if (errors.length > 0) return { type: 'error', message: errors.join(', ') };
  return sources.anonymous ? { type: 'user', user: anonymous } : noCredentials;
}

function byHeader(authenticateToken: TokenAuthenticator) {
  return async (request: IncomingMessage): Promise<AuthenticationResult> => {
    const token = parseBearerToken(request.headers.authorization);
    if (token === null) return noCredentials;
    const result = await authenticateToken(token, request);
    if (result.type === 'user') dropHeader(request, 'authorization');
    return result;
  };
}

function byWebSocket(authenticateToken: TokenAuthenticator) {
  return async (request: IncomingMessage): Promise<AuthenticationResult> => {
    const { upgrade, connection, 'sec-websocket-protocol': protocols } = request.headers;
    const webSocketToken = parseWebSocketToken({ upgrade, connection, protocols });
    if (webSocketToken === null) return noCredentials;
    if ('fault' in webSocketToken) return { type: 'error', message: webSocketToken.fault };
    const result = await authenticateToken(webSocketToken.token, request);
    if (result.type === 'user') {
      dropHeader(request, 'sec-websocket-protocol');
      const remaining = withoutToken(protocols ?? '');
      request.headers['sec-websocket-protocol'] = remaining;
      request.rawHeaders.push('Sec-WebSocket-Protocol', remaining);
    }
    return result;
  };
}

/** Removes an accepted token from the request, because the stream handlers forward headers to the runtime. */
function dropHeader(request: IncomingMessage, name: string): void {
  delete request.headers[name];
  const raw = request.rawHeaders;
  for (let index = raw.length - 2; index >= 0; index -= 2) if (raw[index]?.toLowerCase() === name) raw.splice(index, 2);
}
