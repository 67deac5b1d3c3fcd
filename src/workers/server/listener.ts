/**
 * One HTTP server: listens, tries again when the port is taken, and bounds what clients may hold (connections, headers, time). A
 * request has one reply; its body is not read, since nothing here takes one.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ListenAddress } from '../../shared/contracts/server.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { error, type Reply } from './reply.ts';
import type { Request } from './routes.ts';

export interface ListenerOptions {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  /** Called for each request; what it throws is a 500. */
  readonly reply: (request: Request) => Promise<Reply>;
}

/** Upstream's IdleTimeout. Its read and write timeouts are four hours, for streams, which don't exist here. */
const keepAliveMs = 90_000;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** A client that takes nothing for so long, with an answer under way, is cut off. */
const stalledMs = 60_000;
const maxConnections = 256;
const maxHeaderBytes = 64 * 1024;
/** Upstream tries the healthz port again after 5 s; a port that a dying predecessor still holds is free sooner. */
const retryDelaysMs = [100, 500, 1000, 5000];
const compressFrom = 1024;
const compress = promisify(gzip);

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        maxHeaderSize: maxHeaderBytes,
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveMs,
        connectionsCheckingInterval: 5_000,
      },
      (request, response) => {
        this.#answer(request, response).catch((err: unknown) => {
          options.logger.error({ server: options.name, err, path: request.url?.slice(0, 200) }, 'request could not be answered');
          response.destroy();
        });
      },
    );
    this.#server.maxConnections = maxConnections;
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

  /** Answers what is under way; takes nothing new. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { reply, logger, name } = this.#options;
    const answer = await reply(parse(request)).catch((err: unknown): Reply => {
      logger.error({ server: name, err, path: request.url?.slice(0, 200) }, 'request failed');
      return error(500, messageOf(err));
    });
    // The rest of a body would be taken for the next request.
    if (hasBody(request)) response.setHeader('Connection', 'close');
    await this.#send(request, response, answer);
  }

  async #send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Reply): Promise<void> {
    let bytes: Buffer = Buffer.from(body);
    const compressed = bytes.length >= compressFrom && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    if (compressed) bytes = await compress(bytes);
    response.writeHead(status, {
      ...headers,
      ...(compressed && { 'Content-Encoding': 'gzip' }),
      'Content-Length': bytes.length,
    });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Splits the target by hand: `new URL` throws for what clients may send (`//`, `http:`). */
function parse(request: IncomingMessage): Request {
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)),
    accept: request.headers.accept,
  };
}
