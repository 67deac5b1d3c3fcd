/** The open connections of one server. A full table still accepts every new connection and ends an older one (connection-limits.ts). */
import type { Socket } from 'node:net';
import { serverConnectionsEnded } from '../metrics/definitions/http.ts';
import { monotonicMs } from '../time/clock.ts';
import { ClientConnection, type ConnectionOwner } from './client-connection.ts';
import { computeAuthorizedEviction, computeEviction, type ConnectionLimits } from './connection-limits.ts';

export interface ConnectionTableOptions {
  /** Value of the metrics' `server` label. */
  readonly server: string;
  readonly limits: ConnectionLimits;
}

export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #owner: ConnectionOwner;
  /** Keyed by the addresses and ports of both ends, which are the same for a TCP socket and for the TLS socket over it. */
  readonly #connections = new Map<string, ClientConnection>();

  constructor({ server, limits }: ConnectionTableOptions) {
    this.#limits = limits;
    this.#owner = {
      nowMs: monotonicMs,
      onAuthorized: (connection) => this.#makeRoomForAuthorized(connection),
      onEnd: (reason) => serverConnectionsEnded.inc({ server, reason }),
    };
  }

  /** @param hasTls whether a TLS handshake follows */
  add(socket: Socket, hasTls: boolean): void {
    const key = connectionKey(socket);
    const connection = new ClientConnection(socket, hasTls ? 'handshaking' : 'idle', this.#owner);
    this.#connections.set(key, connection);
    socket.once('close', () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
    computeEviction([...this.#connections.values()], connection, this.#limits, monotonicMs())?.end('evicted');
  }

  /** Takes the accepted TCP socket or the TLS socket over it. Returns undefined when the connection has ended. */
  find(socket: Socket): ClientConnection | undefined {
    return this.#connections.get(connectionKey(socket));
  }

  #makeRoomForAuthorized(connection: ClientConnection): boolean {
    const connections = [...this.#connections.values()];
    if (connections.filter(({ isAuthorized }) => isAuthorized).length <= this.#limits.authorized) return true;
    const evicted = computeAuthorizedEviction(
      connections.filter((other) => other !== connection),
      monotonicMs(),
    );
    evicted?.end('evicted');
    return evicted !== null;
  }
}

/** Includes the local end: a client can connect from one port to several addresses of the node (127.0.0.0/8, Service addresses). */
function connectionKey({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
