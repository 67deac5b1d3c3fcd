/**
 * One client's connection to a server of the kubelet: its state, its queue of pipelined requests, and whether a request on it was
 * authorized. Requests are answered one after the other, as Go's server does. Node would emit all pipelined requests at once, each with
 * its headers and its response object in memory.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, type ConnectionState, type ServerConnection } from './connection-limits.ts';

export type EndReason = 'evicted' | 'pipelining' | 'refused';

/** Requests that may wait for the current one. Clients that pipeline send few; Node reads up to 64 KiB at once. */
const maxWaitingRequests = 16;
const maxWaitingBytes = 16 * 1024;
/** Refused requests after which an unauthorized client must make a new connection, with a new handshake. */
const maxRefusals = 4;

export interface ConnectionOwner {
  readonly nowMs: () => number;
  /** Called when the first request on the connection was authorized. Returns false when there are too many authorized connections. */
  readonly onAuthorized: (connection: ClientConnection) => boolean;
  readonly onEnd: (reason: EndReason) => void;
}

interface WaitingRequest {
  readonly bytes: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly run: () => void;
}

export class ClientConnection implements ServerConnection {
  readonly address: string;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  #state: ConnectionState;
  #stateSinceMs: number;
  #isAuthorized = false;
  #refusals = 0;
  #waiting: WaitingRequest[] = [];
  #waitingBytes = 0;

  /** @param socket the accepted TCP socket, below TLS */
  constructor(socket: Socket, state: ConnectionState, owner: ConnectionOwner) {
    this.address = addressKey(socket.remoteAddress);
    this.#socket = socket;
    this.#owner = owner;
    this.#state = state;
    this.#stateSinceMs = owner.nowMs();
  }

  get state(): ConnectionState {
    return this.#state;
  }
  get stateSinceMs(): number {
    return this.#stateSinceMs;
  }
  get isAuthorized(): boolean {
    return this.#isAuthorized;
  }

  /** Called when the TLS handshake is done. */
  markSecure(): void {
    this.#enter('idle');
  }

  /** Runs the request now, or after the responses to earlier requests. Ends the connection when too many requests wait. */
  serve(request: IncomingMessage, response: ServerResponse, run: () => void): void {
    if (this.#socket.destroyed) return;
    if (this.#state !== 'busy') return this.#run({ request, response, run });
    const bytes = headerBytes(request);
    if (this.#waiting.length >= maxWaitingRequests || this.#waitingBytes + bytes > maxWaitingBytes) return this.end('pipelining');
    this.#waitingBytes += bytes;
    this.#waiting.push({ bytes, request, response, run });
  }

  /**
   * Marks the connection as busy until it ends. Returns false, and ends the connection, when an earlier request has no response yet.
   */
  beginUpgrade(): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#state === 'busy') {
      this.end('pipelining');
      return false;
    }
    this.#enter('busy');
    return true;
  }

  /** Called when a request on the connection was authorized. Returns false when the server has too many authorized connections. */
  authorize(): boolean {
    if (this.#isAuthorized) return true;
    this.#isAuthorized = true;
    this.#isAuthorized = this.#owner.onAuthorized(this);
    return this.#isAuthorized;
  }

  /** Called when a request on the connection was refused. Returns true when the connection must end with the response. */
  countRefusal(): boolean {
    if (this.#isAuthorized) return false;
    this.#refusals += 1;
    if (this.#refusals < maxRefusals) return false;
    this.#owner.onEnd('refused');
    return true;
  }

  end(reason: EndReason): void {
    if (this.#socket.destroyed) return;
    this.#waiting = [];
    this.#owner.onEnd(reason);
    this.#socket.destroy();
  }

  #run({ response, run }: Omit<WaitingRequest, 'bytes'>): void {
    this.#enter('busy');
    response.once('close', () => this.#onResponseClosed());
    run();
  }

  #onResponseClosed(): void {
    const next = this.#waiting.shift();
    if (next === undefined || next.request.socket.destroyed) {
      this.#waiting = [];
      this.#enter('idle');
      return;
    }
    this.#waitingBytes -= next.bytes;
    this.#run(next);
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    this.#stateSinceMs = this.#owner.nowMs();
  }
}

function headerBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}
