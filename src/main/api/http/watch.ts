/** One watch, from its request to its last event. */
import type { Dispatcher } from 'undici';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, type ApiCall, type WatchEvent } from '../api-client.ts';
import { Attempt, maxAnswerBytes, Unanswered, type WireRequest } from './request-attempt.ts';
import { responseError } from './response-error.ts';
import { readEvents } from './watch-events.ts';
import type { RequestMaker } from './wire-request.ts';

export type WatchCall = Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal };

/** Until the server says that the watch has begun: it may first wait to see what was asked for. */
const beginMs = 60_000;
/** The server ends a watch at its timeoutSeconds; it has so much more time until we believe that it can't. */
const marginMs = 30_000;
/** Without timeoutSeconds a server ends a watch after one to two times its --min-request-timeout, 30 min. */
const defaultTimeoutMs = 60 * 60_000;

interface OpenedWatch<T> {
  readonly code: number;
  /** Only of a 200. */
  readonly events: () => AsyncIterable<WatchEvent<T>>;
  /** Reads what a server said that did not begin it. */
  readonly refuse: () => Promise<ApiError>;
}

/** Rejects with Unanswered, or with the signal's reason when it aborts. */
export async function openWatch<T>(
  dispatcher: Dispatcher,
  wire: WireRequest,
  call: WatchCall,
  { clock, maker }: { readonly clock: Clock; readonly maker: RequestMaker },
  signal: AbortSignal,
): Promise<OpenedWatch<T>> {
  const name = { method: 'WATCH', path: call.path } as const;
  const attempt = new Attempt(name, signal);
  attempt.endAfter(beginMs, clock);
  try {
    const { statusCode, headers, body } = await attempt.answerTo(dispatcher, wire);
    // One that fails before or after anybody reads it is nobody's error.
    body.on('error', () => {});
    const silenceMs = silenceOf(call.query);
    async function* chunks(): AsyncGenerator<Buffer> {
      attempt.endAfter(silenceMs, clock);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        attempt.endAfter(silenceMs, clock);
        yield chunk;
      }
    }
    async function* events(): AsyncGenerator<WatchEvent<T>> {
      const stream = chunks();
      try {
        yield* readEvents<T>(failingAs(stream, attempt), maker.codec);
      } catch (err) {
        throw err instanceof Unanswered || signal.aborted ? err : attempt.unreadable(messageOf(err));
      } finally {
        attempt.close();
        // Whoever stops reading ends the watch, also on the wire.
        body.destroy();
      }
    }
    async function refuse(): Promise<ApiError> {
      try {
        const read: Buffer[] = [];
        let length = 0;
        for await (const chunk of failingAs(body as AsyncIterable<Buffer>, attempt)) {
          length += chunk.length;
          if (length > maxAnswerBytes) break;
          read.push(chunk);
        }
        const retryAfter = headers['retry-after'];
        return responseError(name, statusCode, Buffer.concat(read), typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0]);
      } finally {
        attempt.close();
      }
    }
    return { code: statusCode, events, refuse };
  } catch (err) {
    attempt.close();
    throw attempt.failed(err);
  }
}

/** The chunks, with the errors of the connection in the attempt's terms. */
async function* failingAs(chunks: AsyncIterable<Buffer>, attempt: Attempt): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (err) {
    throw attempt.failed(err);
  }
}

function silenceOf(query: ApiCall['query']): number {
  const seconds = Number(query?.['timeoutSeconds']);
  return (seconds > 0 ? seconds * 1000 : defaultTimeoutMs) + marginMs;
}
