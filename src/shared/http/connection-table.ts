/** The connections of one server. It is full at times, and still takes every new connection: see connection-limits.ts. */
import type { Socket } from 'node:net';
import { serverConnectionsEnded } from '../metrics/definitions/http.ts';
import { monotonicMs } from '../time/clock.ts';
import { ClientConnection, type ConnectionOwner } from './client-connection.ts';
import { computeAdmittedEviction, computeEviction, type ConnectionLimits } from './connection-limits.ts';

export interface ConnectionTableOptions {
  /** A label of the metrics. */
  readonly server: string;
  readonly limits: ConnectionLimits;
}

export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #owner: ConnectionOwner;
  /** By the addresses and ports of both ends: what a socket and the TLS socket over it have in common. */
  readonly #connections = new Map<string, ClientConnection>();

  constructor({ server, limits }: ConnectionTableOptions) {
    this.#limits = limits;
    this.#owner = {
      nowMs: monotonicMs,
      admit: (connection) => this.#admit(connection),
      onEnd: (reason) => serverConnectionsEnded.inc({ server, reason }),
    };
  }

  /** A connection was accepted. @param hasTls its handshake is still to come */
  add(socket: Socket, hasTls: boolean): void {
    const key = endsOf(socket);
    const connection = new ClientConnection(socket, hasTls ? 'handshaking' : 'idle', this.#owner);
    this.#connections.set(key, connection);
    socket.once('close', () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
    computeEviction([...this.#connections.values()], connection, this.#limits, monotonicMs())?.end('evicted');
  }

  /** Of a socket as it was accepted, or of the TLS socket over it. Undefined: it has ended. */
  find(socket: Socket): ClientConnection | undefined {
    return this.#connections.get(endsOf(socket));
  }

  #admit(connection: ClientConnection): boolean {
    const held = [...this.#connections.values()];
    if (held.filter(({ isAuthorized: isAdmitted }) => isAdmitted).length <= this.#limits.authorized) return true;
    const evicted = computeAdmittedEviction(
      held.filter((other) => other !== connection),
      monotonicMs(),
    );
    evicted?.end('evicted');
    return evicted !== null;
  }
}

/** A client can connect from one port to each address of the node (all of 127.0.0.0/8, each Service's): these are different connections. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
