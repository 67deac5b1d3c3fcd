/**
 * Closes connections whose handshake exceeds a size limit. OpenSSL parses a client's certificates before the client is verified, and a
 * stalled handshake would keep them in memory until the handshake timeout.
 */
import type { Socket } from 'node:net';

/** About thirty times what a cluster's client sends. Go limits handshakes to 64 KiB too. */
const maxHandshakeBytes = 64 * 1024;
/** OpenSSL needs about 20 ms for 100 KB of certificates, so few oversized handshakes can finish between two checks. */
const checkPeriodMs = 50;

export class HandshakeSizeLimiter {
  readonly #handshaking = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;

  /** @param socket the TCP socket below TLS */
  add(socket: Socket): void {
    this.#handshaking.add(socket);
    socket.once('close', () => this.remove(socket));
    this.#timer ??= setInterval(() => this.#check(), checkPeriodMs).unref();
  }

  /** Called when the handshake or the connection has ended. Idempotent. */
  remove(socket: Socket): void {
    this.#handshaking.delete(socket);
    if (this.#handshaking.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    for (const socket of this.#handshaking) if (socket.bytesRead > maxHandshakeBytes) socket.destroy();
  }
}
