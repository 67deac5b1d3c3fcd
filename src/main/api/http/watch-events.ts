/** Parses the body of a watch: one JSON object per line, of bounded length. */
import { isMap } from '../../config/field-codecs.ts';
import type { WatchEvent } from '../api-client.ts';
import type { WireCodec } from './wire-codec.ts';

/** API servers reject requests above 3 MB, and etcd rejects objects above 1.5 MB. The rest is for fields that servers add. */
const maxEventBytes = 8 * 1024 * 1024;

const newline = 0x0a;
const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** Throws an Error that describes the malformed line. */
export async function* readEvents<T>(
  chunks: AsyncIterable<Buffer>,
  codec: WireCodec,
  maxBytes: number = maxEventBytes,
): AsyncGenerator<WatchEvent<T>> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = parts.length === 0 ? chunk.subarray(start, end) : Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
      length = 0;
      start = end + 1;
      if (line.length > maxBytes) throw new Error(`has an event of more than ${maxBytes} bytes`);
      if (!isBlank(line)) yield decode<T>(line, codec);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > maxBytes) throw new Error(`has an event of more than ${maxBytes} bytes`);
  }
  const lastLine = Buffer.concat(parts);
  if (isBlank(lastLine)) return;
  // A last line without a newline is complete if it can be decoded.
  yield decode<T>(lastLine, codec, 'ended in the middle of an event');
}

function decode<T>(line: Buffer, codec: WireCodec, otherwise = 'has a line that is no event'): WatchEvent<T> {
  let event: unknown;
  try {
    event = codec.decode(line);
  } catch (err) {
    throw new Error(otherwise, { cause: err });
  }
  if (!isMap(event) || !types.has(event['type']) || !isMap(event['object'])) throw new Error('has a line that is no event');
  return event as unknown as WatchEvent<T>;
}

/** True for an empty line and for the \r that a proxy adds. */
function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length < 3 && line.toString('latin1').trim() === '');
}
