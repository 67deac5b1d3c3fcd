/**
 * Decompresses a response. The API server compresses large answers. With the gate WatchListCompression it also compresses a watch that starts
 * with initial events, and then each flush is a gzip member of its own. The readers of the result limit how many decompressed bytes they keep;
 * zlib itself keeps a window of 32 KiB. Upstream: Go's http.Transport, which asks for gzip with every GET of client-go.
 */
import { pipeline, type Readable } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';

/** Ask the server for a response compressed with gzip. */
export const acceptEncodingHeaders = ['accept-encoding', 'gzip'] as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the body itself if it is not compressed. Destroying the result destroys the body. */
export function decompress(body: Readable, headers: Headers): Readable {
  if (String(headers['content-encoding'] ?? '').toLowerCase() !== 'gzip') return body;
  // The connection of a watch may end in the middle of a gzip member. With Z_SYNC_FLUSH the bytes before that are read, without an error.
  const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  // The reader of `gunzip` gets the error.
  pipeline(body, gunzip, () => {});
  return gunzip;
}
