/**
 * One HTTP server: listens, tries again when the port is taken, and bounds what clients may hold (connections, headers, time). Who
 * answers is told by `handle`; with `tls` it is HTTPS, and requests for another protocol (exec, port forwarding) are handed on too.
 */
import { createServer as createHttpServer, ServerResponse, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ListenAddress } from '../../shared/contracts/server.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { noPeer, readPeer, type PeerFacts } from './auth/client-certificate.ts';
import type { TlsContexts } from './tls/contexts.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client asks for another protocol on this connection; null: it does not, or nobody here speaks any. */
  readonly upgrade: { readonly socket: Duplex; readonly head: Buffer } | null;
}

type Contexts = Pick<TlsContexts, 'current' | 'onChange' | 'clientCAGenerationOf'>;

export interface ListenerOptions {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  /** Called for each request; when it rejects, the connection ends. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  readonly maxConnections: number;
  readonly tls?: { readonly contexts: Contexts; readonly requestCert: boolean };
  /** Default: a minute. */
  readonly stalledMs?: number;
}

/** Upstream's IdleTimeout. */
const keepAliveMs = 90_000;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const handshakeTimeoutMs = 10_000;
/** A client that takes nothing for so long, with an answer under way, is cut off. Streams have times of their own. */
const defaultStalledMs = 60_000;
const maxHeaderBytes = 64 * 1024;
/** Upstream tries the healthz port again after 5 s; a port that a dying predecessor still holds is free sooner. */
const retryDelaysMs = [100, 500, 1000, 5000];

const limits = {
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 5_000,
  insecureHTTPParser: false,
};

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  /** Connections that were handed on: nobody else ends them. */
  readonly #upgraded = new Set<Duplex>();
  /** What each handshake showed of its client. The connection is never asked again. */
  readonly #peers = new WeakMap<Socket, PeerFacts>();
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { tls, stalledMs = defaultStalledMs } = options;
    this.#server = tls
      ? createHttpsServer({ ...limits, requestCert: tls.requestCert, rejectUnauthorized: false, handshakeTimeout: handshakeTimeoutMs })
      : createHttpServer(limits);
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#handle({ request, response, upgrade: null }));
    if (tls) this.#secure(tls.contexts, stalledMs);
    this.#server.maxConnections = options.maxConnections;
    this.#server.setTimeout(stalledMs);
    this.#server.on('listening', () => this.#listens());
    this.#server.on('error', (err) => this.#failed(err));
    this.#listen();
  }

  /** Where it listens; null while it could not. Waits for the first try. */
  async address(): Promise<ListenAddress | null> {
    if (!this.#server.listening && this.#failures === 0)
      await new Promise((resolve) => this.#server.once('listening', resolve).once('error', resolve));
    const address = this.#server.address() as AddressInfo | null;
    return address && { address: address.address, port: address.port };
  }

  /** The client of a connection, as its handshake showed it. */
  peer(connection: Socket): PeerFacts {
    return this.#peers.get(connection) ?? noPeer;
  }

  /** Answers what is under way; takes nothing new. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
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
      const { _tlsOptions: begunWith } = socket as { readonly _tlsOptions?: { readonly secureContext?: object } };
      this.#peers.set(socket, readPeer(socket, contexts.clientCAGenerationOf(begunWith?.secureContext)));
    });
    this.#server.on('tlsClientError', (err: Error, socket: TLSSocket) => {
      this.#options.logger.debug({ server: this.#options.name, peer: socket.remoteAddress, err }, 'TLS handshake failed');
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      // Its listeners went with the HTTP parser: an error without one would end the thread.
      socket.on('error', () => socket.destroy());
      // And so did its time-out: one that is never joined to a stream must end too.
      (socket as Socket).setTimeout(stalledMs, () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      // The connection is half open by nature: a client that never ends its half must not keep it.
      response.once('finish', () => (socket as Socket).destroySoon());
      this.#handle({ request, response, upgrade: { socket, head } });
    });
  }

  #handle(exchange: Exchange): void {
    const { name, logger, handle } = this.#options;
    handle(exchange).catch((err: unknown) => {
      logger.error({ server: name, err, path: exchange.request.url?.slice(0, 200) }, 'request could not be answered');
      exchange.response.destroy();
      exchange.upgrade?.socket.destroy();
    });
  }

  #listen(): void {
    const { address, port } = this.#options.listen;
    this.#server.listen({ host: address, port });
  }

  #listens(): void {
    this.#failures = 0;
    const { address, port } = this.#server.address() as AddressInfo;
    this.#options.logger.info({ server: this.#options.name, address, port }, 'server listens');
  }

  #failed(err: Error): void {
    const retryInMs = retryDelaysMs[Math.min(this.#failures, retryDelaysMs.length - 1)]!;
    this.#failures += 1;
    const { name, listen, logger } = this.#options;
    logger.error(
      { server: name, address: listen.address, port: listen.port, err, retryInMs },
      'server can not listen; it will be tried again',
    );
    this.#retry = setTimeout(() => this.#listen(), retryInMs);
  }
}
