/** Parses the body of a watch: one JSON object per line, of bounded length. */
import { isMap } from '../../config/field-codecs.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { systemClock } from '../../../shared/time/clock.ts';
import type { WatchEvent } from '../api-client.ts';
import { DeferredLines, type EventLine } from './deferred-lines.ts';
import type { WireCodec } from './wire-codec.ts';

/**
 * etcd's default limit for an object is 1.5 MiB. The API server's JSON writes six bytes for some characters of one byte (`<` becomes \u003c),
 * which makes 9 MiB. The rest is room for the names of fields, and for an etcd with a higher limit.
 */
const maxEventBytes = 16 * 1024 * 1024;
/** The first bytes of a line contain the object's name and UID: Kubernetes' servers write the metadata first, in the order of its Go type. */
const headBytes = 4096;

/** A line longer than this multiple of the limit can't be an object. It ends the watch instead of being skipped. */
const maxSkippedFactor = 16;

const cutEvent = 'ended in the middle of an event';
const newline = 0x0a;
const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/**
 * Yields the events of a watch: for a line that is too long an event with a problem, and for a deferred line an event marked as late. Throws an
 * Error that describes a malformed line, after the events of all deferred lines.
 */
export async function* readEvents<T>(
  chunks: AsyncIterable<Buffer>,
  codec: WireCodec,
  { maxBytes = maxEventBytes, clock = systemClock }: ReadEventsOptions = {},
): AsyncGenerator<WatchEvent<T>> {
  const lines = readLines(chunks, maxBytes);
  const deferred = new DeferredLines();
  let next: Promise<IteratorResult<EventLine, void>> | null = null;
  async function* handle(line: EventLine, uid: string | undefined, isLate: boolean): AsyncGenerator<WatchEvent<T>> {
    const startedAtMs = clock.monotonic();
    const event = toEvent<T>(line, codec, maxBytes);
    if (event) yield isLate ? { ...event, isLate: true } : event;
    const nowMs = clock.monotonic();
    if (uid !== undefined) deferred.handled(uid, line, nowMs - startedAtMs, nowMs);
  }
  async function* handleDeferred(): AsyncGenerator<WatchEvent<T>> {
    const line = deferred.takeNext();
    if (line) yield* handle(line, readHead(line.start).uid, true);
  }
  try {
    for (;;) {
      next ??= lines.next();
      const dueInMs = deferred.nextDueInMs(clock.monotonic());
      const read = dueInMs === undefined ? await next : dueInMs === 0 ? null : await readWithin(next, dueInMs, clock);
      if (read === null) {
        yield* handleDeferred();
        continue;
      }
      next = null;
      if (read.done) break;
      const line = read.value;
      const { type, uid } = deferred.concerns(line) ? readHead(line.start) : {};
      if (uid === undefined || type === undefined || !deferred.defer(uid, type, line, clock.monotonic())) yield* handle(line, uid, false);
    }
    while (deferred.nextDueInMs(0) !== undefined) yield* handleDeferred();
  } catch (err) {
    next = null;
    while (deferred.nextDueInMs(0) !== undefined) yield* handleDeferred();
    throw err;
  } finally {
    // A read that is still pending settles when the connection ends. Nobody awaits its result any more.
    next?.catch(() => {});
    const ended = lines.return();
    if (next) ended.catch(() => {});
    else await ended;
  }
}

export interface ReadEventsOptions {
  readonly maxBytes?: number;
  readonly clock?: Clock;
}

/** Resolves with null when the time is over first. */
async function readWithin<R>(read: Promise<R>, ms: number, clock: Clock): Promise<R | null> {
  const timeout = Promise.withResolvers<null>();
  const cancel = clock.after(ms, () => timeout.resolve(null));
  try {
    return await Promise.race([read, timeout.promise]);
  } finally {
    cancel();
  }
}

/** Yields each line without its newline. Throws when the body ends in the middle of a line that is too long. */
async function* readLines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<EventLine, void> {
  let parts: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer) => {
    length += part.length;
    parts.push(part);
    // Keeps only the first bytes of a line that is too long.
    if (length > maxBytes) parts = [Buffer.concat(parts, Math.min(headBytes, length))];
    if (length > maxBytes * maxSkippedFactor) throw new Error(`has an event of more than ${maxBytes} bytes`);
  };
  const toLine = (): EventLine => {
    const line = { start: parts.length === 1 ? parts[0]! : Buffer.concat(parts), bytes: length };
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      yield toLine();
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  // A last line without a newline is complete if it can be decoded.
  if (length > maxBytes) throw new Error(cutEvent);
  if (length > 0) yield { ...toLine(), isLast: true };
}

function toEvent<T>({ start, bytes, isLast }: EventLine, codec: WireCodec, maxBytes: number): WatchEvent<T> | null {
  if (bytes > maxBytes) return tooLarge<T>(start, bytes, maxBytes);
  return isBlank(start) ? null : decode<T>(start, codec, isLast ? cutEvent : undefined);
}

/** What the first bytes of a line say about its object. */
interface LineHead {
  readonly type?: string | undefined;
  readonly uid?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

function readHead(line: Buffer): LineHead {
  const head = line.toString('utf8', 0, headBytes);
  // 253 is the longest name of an object.
  const textOf = (field: string) => new RegExp(`"${field}":"([^"\\\\]{1,253})"`).exec(head)?.[1];
  return {
    type: /^\{"type":"([A-Z]+)","object":\{/.exec(head)?.[1],
    uid: textOf('uid'),
    name: textOf('name'),
    namespace: textOf('namespace'),
    resourceVersion: textOf('resourceVersion'),
  };
}

/** Throws when the start of the line does not identify an object: the line is then no event. */
function tooLarge<T>(line: Buffer, bytes: number, maxBytes: number): WatchEvent<T> {
  const { type, name, namespace, uid, resourceVersion } = readHead(line);
  const problem = `has an event of more than ${maxBytes} bytes`;
  if (!types.has(type) || type === 'ERROR' || name === undefined || uid === undefined) throw new Error(problem);
  const metadata = { name, uid, ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) };
  return {
    type: type as WatchEvent<T>['type'],
    object: { metadata } as T,
    problem: `it has ${bytes} bytes in JSON, more than ${maxBytes}`,
  };
}

function decode<T>(line: Buffer, codec: WireCodec, syntaxProblem = 'has a line that is no event'): WatchEvent<T> {
  let event: unknown;
  try {
    event = codec.decode(line);
  } catch (err) {
    throw new Error(syntaxProblem, { cause: err });
  }
  if (!isMap(event) || !types.has(event['type']) || !isMap(event['object'])) throw new Error('has a line that is no event');
  return event as unknown as WatchEvent<T>;
}

/** True for an empty line and for the \r that a proxy adds. */
function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length < 3 && line.toString('latin1').trim() === '');
}
