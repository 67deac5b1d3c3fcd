/**
 * Ends handshakes that send too much: OpenSSL parses a client's certificates before the client has proved anything, and a handshake that
 * then stalls would hold them for as long as handshakes may take.
 */
import type { Socket } from 'node:net';

/** Some thirty times what a client of a cluster sends. Go's handshakes end at 64 KiB too. */
const maxHandshakeBytes = 64 * 1024;
/** OpenSSL takes some 20 ms for a hundred kilobytes of certificates, so that few handshakes pass between two checks. */
const checkEachMs = 50;

export class HandshakeSizeLimiter {
  readonly #open = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;

  /** @param socket below TLS */
  opened(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.ended(socket));
    this.#timer ??= setInterval(() => this.#check(), checkEachMs).unref();
  }

  /** The handshake is over, or its connection. Idempotent. */
  ended(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    for (const socket of this.#open) if (socket.bytesRead > maxHandshakeBytes) socket.destroy();
  }
}
