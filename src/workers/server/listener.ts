/**
 * The HTTPS server: it bounds what clients may hold (connections, requests, headers, time) and calls `handle` for each request. Requests
 * for another protocol (exec, port forwarding) are handed on too.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ListenAddress } from '../../shared/contracts/server/settings.ts';
import type { ClientConnection } from '../../shared/http/client-connection.ts';
import type { ConnectionLimits } from '../../shared/http/connection-limits.ts';
import { ConnectionTable } from '../../shared/http/connection-table.ts';
import { httpLimits, maxHeaders, refuseTooManyHeaders, stallTimeoutMs } from '../../shared/http/http-limits.ts';
import { ListeningPort } from '../../shared/http/listening-port.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { noPeerCertificate, readPeerCertificate, type PeerCertificate } from './auth/client-certificate.ts';
import type { TlsContexts } from './tls/contexts.ts';
import { HandshakeSizeLimiter } from './tls/handshake-watch.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client asks for another protocol on this connection; null: it does not, or nobody here speaks any. */
  readonly upgrade: { readonly socket: Duplex; readonly head: Buffer } | null;
  readonly connection: ClientConnection;
}

/** What Node shows nowhere else. */
interface TLSSocketInternals {
  readonly _tlsOptions?: { readonly secureContext?: object };
  /** The socket below TLS. */
  readonly _parent?: Socket;
}

type Contexts = Pick<TlsContexts, 'current' | 'onChange' | 'clientCAGenerationOf'>;

export interface ListenerOptions {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  /** Called for each request; when it rejects, the connection ends. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  readonly connections: ConnectionLimits;
  readonly tls: { readonly contexts: Contexts; readonly requestCert: boolean };
  /** Default: a minute. */
  readonly stallTimeoutMs?: number;
}

const handshakeTimeoutMs = 10_000;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  /** Connections that were handed on: nobody else ends them. */
  readonly #upgraded = new Set<Duplex>();
  /** What each handshake showed of its client. The connection is never asked again. */
  readonly #peers = new WeakMap<Socket, PeerCertificate>();
  readonly #connections: ConnectionTable;
  readonly #handshakes = new HandshakeSizeLimiter();
  readonly #port: ListeningPort;

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { name, listen, logger, connections, tls, stallTimeoutMs: stalledMs = stallTimeoutMs } = options;
    this.#connections = new ConnectionTable({ server: name, limits: connections });
    const { requestCert } = tls;
    this.#server = createServer({ ...httpLimits, requestCert, rejectUnauthorized: false, handshakeTimeout: handshakeTimeoutMs });
    this.#server.maxHeadersCount = maxHeaders;
    this.#server.on('connection', (socket: Socket) => {
      this.#connections.add(socket, true);
      this.#handshakes.opened(socket);
    });
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = this.#connections.find(request.socket);
      connection?.serve(request, response, () => this.#handle({ request, response, upgrade: null, connection }));
    });
    this.#secure(tls.contexts, stalledMs);
    this.#server.setTimeout(stalledMs);
    this.#port = new ListeningPort({ server: this.#server, name, listen, logger });
  }

  /** Where it listens; null while it could not. Waits for the first try. */
  address(): Promise<ListenAddress | null> {
    return this.#port.address();
  }

  /** The client of a connection, as its handshake showed it. */
  peerCertificate(connection: Socket): PeerCertificate {
    return this.#peers.get(connection) ?? noPeerCertificate;
  }

  /** Answers what is under way; takes nothing new. */
  async close(): Promise<void> {
    this.#port.close();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeIdleConnections();
    await closed;
  }

  #secure(contexts: Contexts, stalledMs: number): void {
    const use = () => {
      // tls.Server takes single options only, and not all of them: no trust in a chain that ends before its root (Node 24 and 26).
      Object.assign(this.#server, { _sharedCreds: contexts.current.context });
    };
    use();
    contexts.onChange = () => {
      use();
      this.#server.closeIdleConnections();
    };
    // Before the HTTP server's own listener, so that no request precedes the identity.
    this.#server.prependListener('secureConnection', (socket: TLSSocket) => {
      // What the handshake began with: the authorities may have changed before it ended.
      const { _tlsOptions: begunWith, _parent: wire } = socket as TLSSocketInternals;
      if (wire) this.#handshakes.ended(wire);
      const peer = readPeerCertificate(socket, contexts.clientCAGenerationOf(begunWith?.secureContext));
      if (!peer) {
        socket.destroy();
        return;
      }
      this.#peers.set(socket, peer);
      this.#connections.find(socket)?.markSecure();
    });
    this.#server.on('tlsClientError', (err: Error, socket: TLSSocket) => {
      this.#options.logger.debug({ server: this.#options.name, peer: socket.remoteAddress, err }, 'TLS handshake failed');
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const connection = this.#connections.find(socket as Socket);
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      // Its listeners went with the HTTP parser: an error without one would end the thread.
      socket.on('error', () => socket.destroy());
      // And so did its time-out: one that is never joined to a stream must end too.
      (socket as Socket).setTimeout(stalledMs, () => socket.destroy());
      if (!connection?.beginUpgrade()) {
        socket.destroy();
        return;
      }
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      // The connection is half open by nature: a client that never ends its half must not keep it.
      response.once('finish', () => (socket as Socket).destroySoon());
      this.#handle({ request, response, upgrade: { socket, head }, connection });
    });
  }

  #handle(exchange: Exchange): void {
    const { name, logger, handle } = this.#options;
    if (refuseTooManyHeaders(exchange.request, exchange.response)) return;
    handle(exchange).catch((err: unknown) => {
      logger.error({ server: name, err, path: exchange.request.url?.slice(0, 200) }, 'request could not be answered');
      exchange.response.destroy();
      exchange.upgrade?.socket.destroy();
    });
  }
}
