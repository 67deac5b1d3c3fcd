/**
 * The HTTPS listener: it limits the connections, requests, headers and time of clients and calls `handle` for each request. This includes
 * upgrade requests (exec, port forward).
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
import { httpLimits, maxHeaders, refuseTooManyHeaders, stallTimeoutMs, verifiedClientHeaderBytes } from '../../shared/http/http-limits.ts';
import { ListeningPort } from '../../shared/http/listening-port.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { noPeerCertificate, readPeerCertificate, type PeerCertificate } from './auth/client-certificate.ts';
import type { TlsContexts } from './tls/tls-contexts.ts';
import { HandshakeSizeLimiter } from './tls/handshake-size-limiter.ts';
import { answerPlainRequest } from './tls/plain-request.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set for an upgrade request. */
  readonly upgrade: { readonly socket: Duplex; readonly head: Buffer } | null;
  readonly connection: ClientConnection;
}

/** Fields without a public API in Node. */
interface TLSSocketInternals {
  readonly _tlsOptions?: { readonly secureContext?: object };
  /** The TCP socket below TLS. */
  readonly _parent?: Socket;
}

type Contexts = Pick<TlsContexts, 'current' | 'onChange' | 'clientCAGenerationOf'>;

export interface ListenerOptions {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  /** Called for each request. The connection is destroyed when the promise rejects. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  readonly connections: ConnectionLimits;
  readonly tls: { readonly contexts: Contexts; readonly requestCert: boolean };
  /** Default: one minute. */
  readonly stallTimeoutMs?: number;
}

const handshakeTimeoutMs = 10_000;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  /** Upgraded connections. The HTTP server no longer closes them. */
  readonly #upgraded = new Set<Duplex>();
  /** Client certificates, read once at the end of each handshake. */
  readonly #peerCertificates = new WeakMap<Socket, PeerCertificate>();
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
      this.#handshakes.add(socket);
    });
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = this.#connections.find(request.socket);
      connection?.serve(request, response, () => this.#handle({ request, response, upgrade: null, connection }));
    });
    this.#listenForHandshakes(tls.contexts, stalledMs);
    this.#server.setTimeout(stalledMs);
    this.#port = new ListeningPort({ server: this.#server, name, listen, logger });
  }

  /** Returns the address that the server listens on, null while it can not listen. Waits for the first attempt. */
  address(): Promise<ListenAddress | null> {
    return this.#port.address();
  }

  /** Returns the client certificate of a connection. */
  peerCertificate(connection: Socket): PeerCertificate {
    return this.#peerCertificates.get(connection) ?? noPeerCertificate;
  }

  /** Finishes the current requests and accepts no new ones. */
  async close(): Promise<void> {
    this.#port.close();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeIdleConnections();
    await closed;
  }

  #listenForHandshakes(contexts: Contexts, stalledMs: number): void {
    const applyContext = () => {
      // tls.Server.setSecureContext takes options instead of a context, and ignores allowPartialTrustChain (Node 24 and 26).
      Object.assign(this.#server, { _sharedCreds: contexts.current.context });
    };
    applyContext();
    contexts.onChange = () => {
      applyContext();
      this.#server.closeIdleConnections();
    };
    // Runs before the HTTP server's own listener, so that no request precedes the client certificate.
    this.#server.prependListener('secureConnection', (socket: TLSSocket) => {
      // The context that the handshake started with: the client CAs may have changed before the handshake ended.
      const { _tlsOptions: tlsOptions, _parent: tcpSocket } = socket as TLSSocketInternals;
      if (tcpSocket) this.#handshakes.remove(tcpSocket);
      const peer = readPeerCertificate(socket, contexts.clientCAGenerationOf(tlsOptions?.secureContext));
      if (!peer) {
        socket.destroy();
        return;
      }
      this.#peerCertificates.set(socket, peer);
      // The HTTP server's own listener of this event creates the connection's parser with the limit that it finds here.
      const isVerified = peer.certificate !== null && peer.fault === '' && peer.generation > 0;
      Object.assign(this.#server, { maxHeaderSize: isVerified ? verifiedClientHeaderBytes : httpLimits.maxHeaderSize });
      this.#connections.find(socket)?.markSecure();
    });
    this.#server.on('tlsClientError', (err: Error, socket: TLSSocket) => {
      this.#options.logger.debug({ server: this.#options.name, peer: socket.remoteAddress, err }, 'TLS handshake failed');
      answerPlainRequest(err, (socket as TLSSocketInternals)._parent);
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const connection = this.#connections.find(socket as Socket);
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      // The HTTP parser has removed its listeners. An error without a listener would end the thread.
      socket.on('error', () => socket.destroy());
      // The parser has also removed the timeout, which the connection needs until it is joined to a stream.
      (socket as Socket).setTimeout(stalledMs, () => socket.destroy());
      if (!connection?.beginUpgrade()) {
        socket.destroy();
        return;
      }
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      // An upgraded connection may be half open. A client that never ends its half must not keep the connection open.
      response.once('finish', () => (socket as Socket).destroySoon());
      this.#handle({ request, response, upgrade: { socket, head }, connection });
    });
  }

  #handle(exchange: Exchange): void {
    const { name, logger, handle } = this.#options;
    if (refuseTooManyHeaders(exchange.request, exchange.response)) return;
    handle(exchange).catch((err: unknown) => {
      logger.error({ server: name, err, path: exchange.request.url?.slice(0, 200) }, 'failed to send the response');
      exchange.response.destroy();
      exchange.upgrade?.socket.destroy();
    });
  }
}
