/**
 * Who asks: by certificate, then by token, then, if the node allows it, as a guest. Credentials that are no good make no guest of
 * their bearer, but a good one beside them counts. Upstream: authenticatorfactory.DelegatingAuthenticatorConfig of k8s.io/apiserver.
 */
import type { IncomingMessage } from 'node:http';
import { bearerToken, webSocketToken, withoutToken } from './bearer-token.ts';
import { anonymous, noCredentials, withAuthenticatedGroup, type AuthenticationResult } from './user.ts';

export type TokenAuthenticator = (token: string, request: IncomingMessage) => Promise<AuthenticationResult>;

export interface AuthenticationSources {
  /** Null: no authorities are configured. */
  readonly certificate: ((request: IncomingMessage) => AuthenticationResult) | null;
  /** Null: tokens are not looked at. */
  readonly token: TokenAuthenticator | null;
  readonly anonymous: boolean;
}

/** `user`: let in, so far. `busy` is a 429, all else a 401, and the message is for the log. Never rejects. */
export async function authenticate(request: IncomingMessage, sources: AuthenticationSources): Promise<AuthenticationResult> {
  const faults: string[] = [];
  const tries = [sources.certificate, sources.token && byHeader(sources.token), sources.token && byWebSocket(sources.token)];
  for (const judge of tries) {
    const verdict = judge ? await judge(request) : noCredentials;
    if (verdict.type === 'user') return { type: 'user', user: withAuthenticatedGroup(verdict.user) };
    if (verdict.type === 'busy') return verdict;
    if (verdict.type === 'error') faults.push(verdict.message);
  }
  if (faults.length > 0) return { type: 'error', message: faults.join(', ') };
  return sources.anonymous ? { type: 'user', user: anonymous } : noCredentials;
}

function byHeader(judge: TokenAuthenticator) {
  return async (request: IncomingMessage): Promise<AuthenticationResult> => {
    const token = bearerToken(request.headers.authorization);
    if (token === null) return noCredentials;
    const verdict = await judge(token, request);
    if (verdict.type === 'user') dropHeader(request, 'authorization');
    return verdict;
  };
}

function byWebSocket(judge: TokenAuthenticator) {
  return async (request: IncomingMessage): Promise<AuthenticationResult> => {
    const { upgrade, connection, 'sec-websocket-protocol': protocols } = request.headers;
    const carried = webSocketToken({ upgrade, connection, protocols });
    if (carried === null) return noCredentials;
    if ('fault' in carried) return { type: 'error', message: carried.fault };
    const verdict = await judge(carried.token, request);
    if (verdict.type === 'user') {
      dropHeader(request, 'sec-websocket-protocol');
      const left = withoutToken(protocols ?? '');
      request.headers['sec-websocket-protocol'] = left;
      request.rawHeaders.push('Sec-WebSocket-Protocol', left);
    }
    return verdict;
  };
}

/** A token that has served goes no further: what is behind the router hands headers on to the runtime. */
function dropHeader(request: IncomingMessage, name: string): void {
  delete request.headers[name];
  const raw = request.rawHeaders;
  for (let index = raw.length - 2; index >= 0; index -= 2) if (raw[index]?.toLowerCase() === name) raw.splice(index, 2);
}
