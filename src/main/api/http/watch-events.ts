/** Parses the body of a watch: one JSON object per line, of bounded length. */
import { isMap } from '../../config/field-codecs.ts';
import type { WatchEvent } from '../api-client.ts';
import type { WireCodec } from './wire-codec.ts';

/**
 * etcd takes 1.5 MiB for an object. The API server's JSON writes six bytes for some characters of one byte (`<` becomes \u003c). The rest is for the names of fields, and
 * for an etcd with a higher limit.
 */
const maxEventBytes = 16 * 1024 * 1024;
/** The start of an event, which has the object's name and UID: Kubernetes' servers write the metadata in the order of its Go type. */
const headBytes = 4096;

/** A line of more than this many limits is no object. */
const maxSkippedLimits = 16;

const cutEvent = 'ended in the middle of an event';
const newline = 0x0a;
const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** Yields an event with a problem for a line that is too long. Throws an Error that describes the malformed line. */
export async function* readEvents<T>(
  chunks: AsyncIterable<Buffer>,
  codec: WireCodec,
  maxBytes: number = maxEventBytes,
): AsyncGenerator<WatchEvent<T>> {
  let parts: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer) => {
    length += part.length;
    parts.push(part);
    // Of a line that is too long, only the start is kept.
    if (length > maxBytes) parts = [Buffer.concat(parts, Math.min(headBytes, length))];
    if (length > maxBytes * maxSkippedLimits) throw new Error(`has an event of more than ${maxBytes} bytes`);
  };
  const toEvent = (otherwise?: string) => {
    const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const bytes = length;
    parts = [];
    length = 0;
    if (bytes > maxBytes) return tooLarge<T>(line, bytes, maxBytes);
    return isBlank(line) ? null : decode<T>(line, codec, otherwise);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      const event = toEvent();
      if (event) yield event;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  // A last line without a newline is complete if it can be decoded.
  if (length > maxBytes) throw new Error(cutEvent);
  const event = toEvent(cutEvent);
  if (event) yield event;
}

/** Throws when the start of the line does not say which object it has: it is then no event. */
function tooLarge<T>(line: Buffer, bytes: number, maxBytes: number): WatchEvent<T> {
  const head = line.toString('utf8', 0, headBytes);
  const [, type] = /^\{"type":"([A-Z]+)","object":\{/.exec(head) ?? [];
  const textOf = (field: string) => new RegExp(`"${field}":"([^"\\\\]{1,253})"`).exec(head)?.[1];
  const [name, namespace, uid, resourceVersion] = ['name', 'namespace', 'uid', 'resourceVersion'].map(textOf);
  const problem = `has an event of more than ${maxBytes} bytes`;
  if (!types.has(type) || type === 'ERROR' || name === undefined || uid === undefined) throw new Error(problem);
  const metadata = { name, uid, ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) };
  return {
    type: type as WatchEvent<T>['type'],
    object: { metadata } as T,
    problem: `it has ${bytes} bytes in JSON, more than ${maxBytes}`,
  };
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
