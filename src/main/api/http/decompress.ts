/**
 * Decompresses a response. The API server compresses large answers, and all of a watch that begins with the objects there are (WatchListCompression), in which
 * each flush is a gzip member of its own. Readers bound what they keep of the decompressed bytes; zlib itself keeps a window of 32 KiB. Upstream: Go's
 * http.Transport, which asks for gzip with every GET of client-go.
 */
import { pipeline, type Readable } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';

/** Asks for it. */
export const acceptEncodingHeaders = ['accept-encoding', 'gzip'] as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the body itself if it is not compressed. Destroying the result destroys the body. */
export function decompress(body: Readable, headers: Headers): Readable {
  if (String(headers['content-encoding'] ?? '').toLowerCase() !== 'gzip') return body;
  // A watch ends wherever the connection does: what came before is read.
  const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  // The reader of `gunzip` gets the error.
  pipeline(body, gunzip, () => {});
  return gunzip;
}
