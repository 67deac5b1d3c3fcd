/**
 * One client's connection to a server of the kubelet, from the moment it is accepted: what it does, what it may still send, and whether
 * a request on it was admitted. Its requests are answered one after the other, as Go's server answers them; Node would hand over every
 * request that a client pipelines at once, each with its headers and its response.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, type ConnectionState, type ServerConnection } from './connection-limits.ts';

export type EndReason = 'evicted' | 'pipelining' | 'refused';

/** Requests that wait for the one under way. Clients that pipeline at all send few; Node reads up to 64 KiB at once. */
const maxWaitingRequests = 16;
const maxWaitingBytes = 16 * 1024;
/** A client without credentials may try some; then it has to pay for a handshake again. */
const maxRefusals = 4;

export interface ConnectionOwner {
  readonly nowMs: () => number;
  /** The first request on it is admitted. False: there are too many such connections. */
  readonly admit: (connection: ClientConnection) => boolean;
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

  /** @param socket as it was accepted, below TLS */
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

  /** Its TLS handshake is done. */
  markSecure(): void {
    this.#enter('idle');
  }

  /** Runs it now, or after the responses to the requests before it; a client that has sent too many of them loses its connection. */
  serve(request: IncomingMessage, response: ServerResponse, run: () => void): void {
    if (this.#socket.destroyed) return;
    if (this.#state !== 'busy') return this.#run({ request, response, run });
    const bytes = headerBytes(request);
    if (this.#waiting.length >= maxWaitingRequests || this.#waitingBytes + bytes > maxWaitingBytes) return this.end('pipelining');
    this.#waitingBytes += bytes;
    this.#waiting.push({ bytes, request, response, run });
  }

  /** The connection is handed on, and stays busy until it ends. False: its client has not awaited the responses before, and has lost it. */
  beginUpgrade(): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#state === 'busy') {
      this.end('pipelining');
      return false;
    }
    this.#enter('busy');
    return true;
  }

  /** A request on it was authorized. False: the kubelet has no room for another such connection. */
  authorize(): boolean {
    if (this.#isAuthorized) return true;
    this.#isAuthorized = true;
    this.#isAuthorized = this.#owner.admit(this);
    return this.#isAuthorized;
  }

  /** A request on it was not. True: the connection ends with the response. */
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
    response.once('close', () => this.#answered());
    run();
  }

  #answered(): void {
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
