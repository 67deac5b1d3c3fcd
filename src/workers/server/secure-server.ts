/**
 * Serves a request of the authenticated server: parses the path, finds its handler, authenticates, authorizes, then calls the handler. The
 * order is upstream's: an unknown path is 404 for everybody, a wrong method is reported to authorized clients only.
 */
import type { IncomingMessage } from 'node:http';
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { SecureServerSettings } from '../../shared/contracts/server/settings.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { addressKey } from '../../shared/http/connection-limits.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { clientCertificateExpiration } from '../../shared/metrics/definitions/authentication.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { authenticate, type AuthenticationSources } from './auth/authenticate.ts';
import { createAccessReviewAuthorizer, alwaysAllow, type Authorize } from './auth/authorize.ts';
import { authenticateCertificate, type PeerCertificate } from './auth/client-certificate.ts';
import { TokenReviews } from './auth/token-reviews.ts';
import type { AuthenticationResult } from './auth/user.ts';
import type { Exchange } from './listener.ts';
import type { ServeMux } from './serve-mux.ts';
import { error, withConnectionClose, message, pageNotFound, type Reply } from '../../shared/http/reply.ts';
import { inRequestSpan } from './request-span.ts';
import type { Handler } from './secure-routes.ts';
import { sendReply } from '../../shared/http/send-reply.ts';
import { RefusalLog } from './refusal-log.ts';
import { parseRequestTarget } from './request-target.ts';

export interface SecureServerOptions {
  readonly settings: Pick<SecureServerSettings, 'authentication' | 'authorization' | 'nodeName'>;
  readonly main: Pick<MainApi, 'reviewToken' | 'reviewAccess'>;
  readonly routes: ServeMux<Handler>;
  readonly clientCertificates: {
    readonly peer: (connection: IncomingMessage['socket']) => PeerCertificate;
    /** Generation of the current client CAs. */
    readonly clientCAGeneration: () => number;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SecureServer {
  readonly #options: SecureServerOptions;
  readonly #authenticationSources: AuthenticationSources;
  readonly #authorize: Authorize;
  readonly #refusals: RefusalLog;

  constructor(options: SecureServerOptions) {
    this.#options = options;
    const { settings, main, clock } = options;
    this.#refusals = new RefusalLog(options.logger, clock);
    const { clientCAFile, webhook, anonymous } = settings.authentication;
    const tokens = webhook && new TokenReviews({ reviewToken: main.reviewToken, cacheTTLMs: webhook.cacheTTLMs, clock });
    this.#authenticationSources = {
      certificate: clientCAFile === '' ? null : (request) => this.#authenticateCertificate(request),
      token:
        tokens &&
        ((token, { socket }) =>
          tokens.authenticate(token, { address: addressKey(socket.remoteAddress), isDisconnected: () => socket.destroyed })),
      anonymous,
    };
    this.#authorize = settings.authorization
      ? createAccessReviewAuthorizer({ ...settings.authorization, nodeName: settings.nodeName, reviewAccess: main.reviewAccess, clock })
      : alwaysAllow;
  }

  /** Rejects only when the response can not be sent. */
  async serve(exchange: Exchange): Promise<void> {
    const reply = await this.#answer(exchange).catch((err: unknown): Reply => {
      this.#options.logger.error({ err, path: exchange.request.url?.slice(0, 200) }, 'request failed');
      return error(500, messageOf(err));
    });
    if (reply === null) return;
    // The handler failed in the middle of its response.
    if (exchange.response.headersSent) exchange.response.destroy();
    else await sendReply(exchange.request, exchange.response, reply);
  }

  async #answer(exchange: Exchange): Promise<Reply | null> {
    const { request } = exchange;
    const target = parseRequestTarget(request.url ?? '/');
    if ('status' in target) return target;
    const route = this.#options.routes.find(target.path);
    if (route === null) return pageNotFound;
    if ('reply' in route) return route.reply;
    const method = request.method ?? 'GET';
    const refusal = await this.#checkAccess(request, method, target.path);
    if (refusal) return exchange.connection.countRefusal() ? withConnectionClose(refusal) : refusal;
    if (!exchange.connection.authorize()) return withConnectionClose(error(503, 'too many connections'));
    // The client may have disconnected during authorization; a command must not run for it. The HTTP server ends its side as soon as it
    // reads the client's end, and the socket is destroyed only after that.
    if (request.socket.destroyed || request.socket.writableEnded) return null;
    return inRequestSpan(
      request,
      target.path,
      () => exchange.response.statusCode,
      () => route.handler({ ...exchange, ...target, method }),
    );
  }

  /** Returns null when the request is allowed, else the response. */
  async #checkAccess(request: IncomingMessage, method: string, path: string): Promise<Reply | null> {
    const result = await authenticate(request, this.#authenticationSources);
    if (result.type === 'busy') return tooManyReviews;
    if (result.type !== 'user') {
      if (result.type === 'error')
        this.#refusals.info({ reason: result.message, peer: request.socket.remoteAddress }, 'request not authenticated');
      return message(401, 'Unauthorized');
    }
    const decision = await this.#authorize(result.user, method, path);
    if (decision.type === 'allowed') return null;
    this.#refusals.info(
      { user: result.user.name, method, path: path.slice(0, 200), reason: decision.cause ?? 'not allowed' },
      'request refused',
    );
    return message(decision.status, decision.message);
  }

  #authenticateCertificate({ socket }: IncomingMessage): AuthenticationResult {
    const { clientCertificates, clock } = this.#options;
    const peer = clientCertificates.peer(socket);
    if (peer.certificate) clientCertificateExpiration.observe((peer.certificate.validToMs - clock.now()) / 1000);
    return authenticateCertificate(peer, clientCertificates.clientCAGeneration(), clock.now());
  }
}

/** The response to an unknown token while too many token reviews wait. */
const tooManyReviews: Reply = {
  status: 429,
  headers: { ...message(429, '').headers, 'Retry-After': '1' },
  body: 'Too many requests, please try again later.',
};
