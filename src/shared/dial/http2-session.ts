/** The client's side of an HTTP/2 connection that has one request and then ends. */
import { connect, type ClientHttp2Session, type ClientSessionOptions } from 'node:http2';
import type { Duplex } from 'node:stream';

export interface Http2SessionOptions {
  /** Of the server, for the default of `:authority`. */
  readonly url: string;
  readonly maxHeaderBytes: number;
  /** The session has ended, with the first error. Whatever else had arrived was read before. */
  readonly onClose: (error: Error | undefined) => void;
}

/** The size of the smallest header field with its overhead (RFC 9113, section 6.5.2); node:http2 has a limit of 128 fields by default. */
const minFieldBytes = 34;

export function openHttp2Session(socket: Duplex, { url, maxHeaderBytes, onClose }: Http2SessionOptions): ClientHttp2Session {
  // The option is missing in Node's types. A request may have a header twice.
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
