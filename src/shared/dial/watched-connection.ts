/** A connection that counts, times and bounds the bytes that it receives, and keeps the first ones: an error text of Go depends on them. */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Handshake, headers and body of a response need less. The limit bounds the cost of a server that sends frames or records without end. */
export const maxReceivedBytes = 1024 * 1024;

/** Up to the version in a ServerHello: 5 bytes of the TLS record's header, 4 of the handshake message's header, and 2 of the version. */
export const firstBytesLength = 11;

export interface ReceivedBytes {
  /** Up to `firstBytesLength`. */
  readonly first: Buffer;
  readonly count: number;
}

/** Called with the ms that the thread was busy with received bytes: in TLS, in HTTP/2 and in the handlers of the response. */
export type OnSpent = (ms: number) => void;

/** Destroyed together with its connection. Fails when it has received more than `maxBytes`. */
export class WatchedConnection extends Duplex implements ReceivedBytes {
  readonly #connection: Socket;
  maxBytes: number;
  first = Buffer.alloc(0);
  count = 0;

  constructor(connection: Socket, maxBytes: number, onSpent?: OnSpent) {
    super({ decodeStrings: true });
    this.#connection = connection;
    this.maxBytes = maxBytes;
    connection.on('data', (chunk: Buffer) => {
      this.count += chunk.length;
      if (this.first.length < firstBytesLength) this.first = Buffer.concat([this.first, chunk]).subarray(0, firstBytesLength);
      if (this.count > this.maxBytes) this.destroy(new TooMuchReceivedError(this.maxBytes));
      else {
        const startedAtMs = performance.now();
        if (!this.push(chunk)) connection.pause();
        onSpent?.(performance.now() - startedAtMs);
      }
    });
    connection.on('end', () => this.push(null));
    connection.on('error', (err) => this.destroy(err));
    connection.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#connection.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#connection.end(done);
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#connection.destroy();
    done(err);
  }
}

class TooMuchReceivedError extends Error {
  constructor(maxBytes: number) {
    super(`the server sent more than ${maxBytes} bytes`);
  }
}
