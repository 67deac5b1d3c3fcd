/** A token server for a registry's Bearer authentication (distribution's token specification): it exchanges user and password for a token. */
import { createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

/** The password of each user of a test registry. */
export const registryPassword = 'geheim';

export interface TokenServerOptions {
  readonly service: string;
  /** The key and the certificate that sign tokens. The registry trusts the certificate's authority. */
  readonly key: string;
  readonly cert: string;
  readonly users: readonly string[];
}

export class TokenServer {
  readonly realm: string;
  readonly issuer = 'test tokens';

  private constructor(realm: string) {
    this.realm = realm;
  }

  static async start(t: TestHooks, options: TokenServerOptions): Promise<TokenServer> {
    const server = createServer((request, response) => {
      const user = userOf(request);
      // A client without OAuth uses GET.
      if (request.method !== 'GET') response.writeHead(405).end();
      else if (!options.users.includes(user)) response.writeHead(401).end();
      else response.end(JSON.stringify({ token: tokens.#issue(user, new URL(request.url ?? '', 'http://x'), options) }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const tokens = new TokenServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token`);
    t.after(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return tokens;
  }

  #issue(user: string, { searchParams }: URL, { service, key, cert }: TokenServerOptions): string {
    const access = searchParams.getAll('scope').map((scope) => {
      const [type, name, actions = ''] = scope.split(':');
      return { type, name, actions: actions.split(',').filter((action) => action === 'pull') };
    });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.issuer, sub: user, aud: service, iat: now, nbf: now - 10, exp: now + 300, jti: randomUUID(), access };
    const header = { typ: 'JWT', alg: 'ES256', x5c: [new X509Certificate(cert).raw.toString('base64')] };
    const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const signature = sign('sha256', Buffer.from(text), { key: createPrivateKey(key), dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }
}

/** Empty: no user, or a wrong password. */
function userOf({ headers }: IncomingMessage): string {
  const [scheme, credentials = ''] = (headers.authorization ?? '').split(' ');
  const [user = '', password = ''] = Buffer.from(credentials, 'base64').toString().split(':');
  return scheme === 'Basic' && password === registryPassword ? user : '';
}
