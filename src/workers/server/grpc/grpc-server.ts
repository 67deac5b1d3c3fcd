/**
 * A gRPC server on a Unix socket. The server of `@grpc/grpc-js` buffers whatever a client does not read. This one limits everything that a client
 * can cause, and loads nothing before the first connection. Upstream limits only the rate of unary calls.
 */
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { TokenBucket } from '../../../shared/concurrency/token-bucket.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import { bindUnixSocket } from '../bind-unix-socket.ts';
import { defaultClientLimits, type ClientLimits } from './call.ts';
import { CallTable } from './call-table.ts';
import { serveCall, type Methods } from './serve-call.ts';
import { GrpcError, statusCode } from './status.ts';

export interface GrpcServerOptions {
  /** For logs. */
  readonly name: string;
  readonly socketPath: string;
  /** Loads the handlers. Called for each call. */
  readonly methods: () => Promise<Methods>;
  /** Default: `defaultClientLimits`. */
  readonly limits?: ClientLimits;
  readonly logger: Logger;
}

/** DefaultQPS and DefaultBurstTokens of pkg/kubelet/apis/podresources and pods. */
const unaryLimit = { qps: 100, burst: 10 };
/** More than `maxCalls.streams`, so that streams, which may last, cannot occupy all connections. */
const maxConnections = 100;
/** `short` exceeds `maxCallsPerConnection`, so that one connection can have all its calls at once. */
const maxCalls = { short: 128, streams: 64 };
const maxCallsPerConnection = 100;
const maxHeaderBytes = 16 * 1024;
const folderMode = 0o750;

interface Connection {
  readonly session: ServerHttp2Session;
  callsInProgress: number;
}

export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #server: Server;
  readonly #opened: Promise<void>;
  /** Oldest first. */
  readonly #connections = new Set<Connection>();
  readonly #calls = new CallTable(maxCalls);
  readonly #unaryTokens = new TokenBucket(unaryLimit, monotonicMs());

  /** Opens the socket. A failure is logged; the other servers of the thread still work. */
  constructor(options: GrpcServerOptions) {
    const { name, socketPath, logger } = options;
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#opened = bindUnixSocket(this.#server, { path: socketPath, folderMode }).then(
      () => logger.info({ endpoint: `unix:${socketPath}` }, `Starting to serve the ${name}`),
      (err: unknown) => logger.error({ err: messageOf(err), socketPath }, `Cannot serve the ${name}`),
    );
  }

  /** Settles when the socket is open, or cannot be opened. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  async close(): Promise<void> {
    await this.#opened;
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const { session } of this.#connections) session.destroy();
    await closed;
  }

  /** A full server ends its oldest connection without a call. When all have calls, it refuses the new connection. */
  #accept(socket: Socket): void {
    socket.on('error', () => {});
    if (this.#connections.size >= maxConnections) {
      const idle = [...this.#connections].find(({ callsInProgress }) => callsInProgress === 0);
      if (!idle) return void socket.destroy();
      this.#connections.delete(idle);
      idle.session.destroy();
    }
    // `node:http2` is loaded with the first connection.
    const { performServerHandshake } = process.getBuiltinModule('node:http2');
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: maxCallsPerConnection, maxHeaderListSize: maxHeaderBytes },
      maxSendHeaderBlockLength: maxHeaderBytes,
    });
    const connection: Connection = { session, callsInProgress: 0 };
    this.#connections.add(connection);
    session.on('error', () => {});
    session.once('close', () => this.#connections.delete(connection));
    session.on('stream', (stream, headers) => this.#serve(connection, stream, headers));
  }

  #serve(connection: Connection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { methods, limits = defaultClientLimits, logger } = this.#options;
    connection.callsInProgress += 1;
    stream.once('close', () => {
      connection.callsInProgress -= 1;
    });
    void serveCall(stream, headers, { methods, calls: this.#calls, limitRate: () => this.#limitRate(), limits, logger });
  }

  #limitRate(): void {
    if (this.#unaryTokens.take(monotonicMs()) > 0) throw new GrpcError(statusCode.RESOURCE_EXHAUSTED, 'rejected by rate limit');
  }
}
