/**
 * TLS on a connection whose first received bytes are kept: OpenSSL has one error for all that is not TLS, and Go has another one for HTTP. Costs 50 µs of the 900 µs that
 * a request has with TLS.
 */
import { isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { firstBytesLength, type ReceivedBytes } from '../http-get/tls-error.ts';

/** Handshake, headers and body of a response need less. It bounds what frames and records without an end cost. */
const maxReceivedBytes = 1024 * 1024;

let secureContext: SecureContext | undefined;

/**
 * No certificate is verified. Old servers with short keys and old ciphers are accepted, as by Go: nothing that must stay secret is sent. The owner of the
 * result ends both it and the connection.
 */
export function secureConnection(
  connection: Socket,
  { host, offersHttp2 }: { readonly host: string; readonly offersHttp2: boolean },
): { readonly socket: TLSSocket; readonly received: ReceivedBytes } {
  secureContext ??= createSecureContext({ ciphers: 'DEFAULT:@SECLEVEL=0' });
  const watched = new WatchedConnection(connection);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const protocols = offersHttp2 ? { ALPNProtocols: ['h2', 'http/1.1'] } : {};
  return { socket: connect({ socket: watched, secureContext, rejectUnauthorized: false, ...servername, ...protocols }), received: watched };
}

class WatchedConnection extends Duplex implements ReceivedBytes {
  readonly #connection: Socket;
  first = Buffer.alloc(0);
  count = 0;

  constructor(connection: Socket) {
    super({ decodeStrings: true });
    this.#connection = connection;
    connection.on('data', (chunk: Buffer) => {
      this.count += chunk.length;
      if (this.first.length < firstBytesLength) this.first = Buffer.concat([this.first, chunk]).subarray(0, firstBytesLength);
      if (this.count > maxReceivedBytes) this.destroy(new TooMuchReceivedError());
      else if (!this.push(chunk)) connection.pause();
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
  override readonly message = `the server sent more than ${maxReceivedBytes} bytes`;
}
