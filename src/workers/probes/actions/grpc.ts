/**
 * A gRPC probe: Check of grpc.health.v1.Health on a connection of its own (upstream pkg/probe/grpc/grpc.go). A refused connection is tried again until the timeout,
 * as grpc-go does when it dials with WithBlock. With TLS no certificate is verified.
 */
import type { Socket } from 'node:net';
import { codeName, grpcCode } from '../../../shared/cri/cri-error.ts';
import { openConnection, type OpeningConnection } from '../../../shared/dial/open-connection.ts';
import { addressesOf, joinHostPort } from '../../../shared/dial/socket-error.ts';
import type { OnSpent } from '../../../shared/dial/watched-connection.ts';
import { secureConnection, serverKeyFault } from '../../../shared/dial/tls-connection.ts';
import { goDuration, goQuote } from '../../../shared/kubernetes/go-text.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { ActionOf, Attempt, AttemptResult, OnAttemptDone } from './attempt.ts';
import { success } from './attempt.ts';
import { GrpcConnection, type GrpcTransport } from './grpc-connection.ts';
import type { RpcStatus } from './grpc-reply.ts';

/** grpc-go's connection back-off (backoff.DefaultConfig). */
const reconnectLimits = { initialMs: 1000, maxMs: 120_000, factor: 1.6 };

export function startGRPC(action: ActionOf<'grpc'>, timeoutSeconds: number, done: OnAttemptDone, onSpent?: OnSpent): Attempt {
  const attempt = new GrpcAttempt(action, timeoutSeconds, done, onSpent);
  attempt.connect();
  return attempt;
}

class GrpcAttempt implements Attempt {
  readonly #action: ActionOf<'grpc'>;
  readonly #timeoutSeconds: number;
  readonly #done: OnAttemptDone;
  readonly #onSpent: OnSpent | undefined;
  #opening: OpeningConnection | undefined;
  #connection: GrpcConnection | undefined;
  #handshake: { readonly close: () => void } | undefined;
  #retry: NodeJS.Timeout | undefined;
  #backoffMs: number | undefined;
  #isReady = false;
  #isOver = false;

  constructor(action: ActionOf<'grpc'>, timeoutSeconds: number, done: OnAttemptDone, onSpent: OnSpent | undefined) {
    this.#onSpent = onSpent;
    this.#action = action;
    this.#timeoutSeconds = timeoutSeconds;
    this.#done = done;
  }

  connect(): void {
    const { host, port } = this.#action;
    this.#opening = openConnection(host, port, {
      onConnect: (socket) => {
        const addresses = addressesOf(socket);
        if (this.#action.tls) this.#secure(socket, addresses);
        else this.#call({ socket, addresses, receivedBytes: () => socket.bytesRead });
      },
      onError: ({ message, doubt }) => {
        if (doubt) this.#finish(failure(`error: failed to connect service at ${goQuote(this.#address)}: ${message}`, doubt));
        else this.#retryLater();
      },
    });
  }

  timeOut(): void {
    const message = this.#isReady
      ? `timeout: health rpc did not complete within ${this.#timeout}`
      : `timeout: failed to connect service ${goQuote(this.#address)} within ${this.#timeout}: context deadline exceeded`;
    this.#finish(failure(message, 'time'));
  }

  cancel(): void {
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#opening?.cancel();
    this.#handshake?.close();
    this.#connection?.close();
  }

  /** grpc-go takes a handshake that fails, and a server that does not choose HTTP/2, for a server that is not ready yet. */
  #secure(connection: Socket, addresses: string): void {
    const { socket, received } = secureConnection(connection, {
      host: this.#action.host,
      protocols: ['h2'],
      onlyAEAD: true,
      onSpent: this.#onSpent,
    });
    const close = () => {
      socket.destroy();
      connection.destroy();
    };
    this.#handshake = { close };
    connection.on('error', () => {});
    // This listener stays: an 'error' event without a listener would end the thread.
    socket.on('error', () => {});
    const onClose = () => this.#retryLater();
    socket.once('close', onClose);
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol !== 'h2' || serverKeyFault(socket, received) !== undefined) return close();
      socket.off('close', onClose);
      this.#call({ socket, addresses, receivedBytes: () => received.count });
    });
  }

  #call(transport: GrpcTransport): void {
    this.#connection = new GrpcConnection(transport, this.#action, this.#timeoutSeconds, {
      onReady: () => (this.#isReady = true),
      onRetry: () => this.#retryLater(),
      onReply: (reply) => this.#finish(typeof reply === 'string' ? toResult(reply) : failure(...rpcFailure(reply, this.#timeout))),
    });
  }

  get #address(): string {
    return joinHostPort(this.#action.host, this.#action.port);
  }

  get #timeout(): string {
    return goDuration(this.#timeoutSeconds * 1000);
  }

  #finish(result: AttemptResult): void {
    if (this.#isOver) return;
    this.cancel();
    this.#done(result);
  }

  #retryLater(): void {
    if (this.#isOver) return;
    this.#backoffMs = nextBackoffMs(this.#backoffMs, reconnectLimits);
    // As in grpc-go, from 80% to 120% of the back-off.
    this.#retry = setTimeout(() => this.connect(), withJitter(this.#backoffMs * 0.8, 0.5));
  }
}

function toResult(status: string): AttemptResult {
  return status === 'SERVING' ? success : failure(`service unhealthy (responded with ${goQuote(status)})`);
}

function rpcFailure({ code, details }: RpcStatus, timeout: string): [message: string, doubt?: 'time'] {
  if (code === grpcCode.UNIMPLEMENTED)
    return [`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`];
  if (code === grpcCode.DEADLINE_EXCEEDED) return [`timeout: health rpc did not complete within ${timeout}`, 'time'];
  const message = `error: health rpc probe failed: rpc error: code = ${codeName(code)} desc = ${details}`;
  return code === grpcCode.UNAVAILABLE ? [message, 'time'] : [message];
}

function failure(output: string, doubt?: AttemptResult['doubt']): AttemptResult {
  return { outcome: 'failure', output, ...(doubt && { doubt }) };
}
