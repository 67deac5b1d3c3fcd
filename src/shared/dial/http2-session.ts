/** The client's side of an HTTP/2 connection that has one request and then ends. */
import { connect, type ClientHttp2Session, type ClientSessionOptions } from 'node:http2';
import type { Duplex } from 'node:stream';

export interface Http2SessionOptions {
  /** The server's URL, from which node:http2 takes the default `:authority`. */
  readonly url: string;
  readonly maxHeaderBytes: number;
  /** Called when the session has ended, with its first error. What the server sent before the end has been read by then. */
  readonly onClose: (error: Error | undefined) => void;
}

/**
 * The size of the smallest header field: a name and a value of one byte, and 32 bytes of overhead (RFC 9113, section 6.5.2). Converts the limit in bytes to one
 * in fields, because node:http2 allows only 128 fields by default.
 */
const minFieldBytes = 34;

export function openHttp2Session(socket: Duplex, { url, maxHeaderBytes, onClose }: Http2SessionOptions): ClientHttp2Session {
  // A request may repeat a header that normally has a single value. Node's types lack the option.
  const headers: ClientSessionOptions & { readonly strictSingleValueFields: boolean } = { strictSingleValueFields: false };
  const session = connect(url, {
    ...headers,
    createConnection: () => socket,
    settings: { enablePush: false, maxHeaderListSize: maxHeaderBytes },
    maxHeaderListPairs: Math.ceil(maxHeaderBytes / minFieldBytes),
    maxReservedRemoteStreams: 0,
  });
  let error: Error | undefined;
  // An error without a listener would end the thread.
  socket.on('error', (err) => (error ??= err));
  session.on('error', (err) => (error ??= err));
  session.once('close', () => setImmediate(() => onClose(error)));
  return session;
}
