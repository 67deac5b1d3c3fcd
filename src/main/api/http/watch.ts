/** Opens one watch and reads its events. */
import type { Dispatcher } from 'undici';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, type ApiCall, type WatchEvent } from '../api-client.ts';
import { decompress } from './decompress.ts';
import { RequestAttempt, maxResponseBytes, NoResponseError, type WireRequest } from './request-attempt.ts';
import { responseError } from './response-error.ts';
import { readEvents } from './watch-events.ts';
import type { RequestDefaults } from './wire-request.ts';

export type WatchCall = Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal };

/** The time for the response headers. The server may first wait until it has the requested resource version. */
const startDeadlineMs = 60_000;
/** The server ends a watch after its timeoutSeconds. A watch still open after this additional time counts as dead. */
const idleMarginMs = 30_000;
/** Without timeoutSeconds a server ends a watch after one to two times its --min-request-timeout (30 min). */
const defaultTimeoutMs = 60 * 60_000;

interface OpenedWatch<T> {
  readonly code: number;
  /** Only after a 200. */
  readonly events: () => AsyncIterable<WatchEvent<T>>;
  /** Reads the error response of a server that did not start the watch. */
  readonly readError: () => Promise<ApiError>;
}

/** Rejects with NoResponseError, or with the signal's reason when the signal aborts. */
export async function openWatch<T>(
  dispatcher: Dispatcher,
  wire: WireRequest,
  call: WatchCall,
  { clock, requestDefaults }: { readonly clock: Clock; readonly requestDefaults: RequestDefaults },
  signal: AbortSignal,
): Promise<OpenedWatch<T>> {
  const name = { method: 'WATCH', path: call.path } as const;
  const attempt = new RequestAttempt(name, signal);
  attempt.setDeadline(startDeadlineMs, clock);
  try {
    const { statusCode, headers, body: sent } = await attempt.send(dispatcher, wire);
    const body = decompress(sent, headers);
    // A body that fails before or after it is read must not raise an unhandled error.
    body.on('error', () => {});
    const idleTimeoutMs = idleTimeoutOf(call.query);
    async function* chunks(): AsyncGenerator<Buffer> {
      attempt.setDeadline(idleTimeoutMs, clock);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        attempt.setDeadline(idleTimeoutMs, clock);
        yield chunk;
      }
    }
    async function* events(): AsyncGenerator<WatchEvent<T>> {
      const stream = chunks();
      try {
        yield* readEvents<T>(withAttemptErrors(stream, attempt), requestDefaults.codec, { clock });
      } catch (err) {
        throw err instanceof NoResponseError || signal.aborted ? err : attempt.unreadableResponse(messageOf(err));
      } finally {
        attempt.close();
        // A consumer that stops reading ends the watch on the wire as well.
        body.destroy();
      }
    }
    async function readError(): Promise<ApiError> {
      try {
        const collected: Buffer[] = [];
        let length = 0;
        for await (const chunk of withAttemptErrors(body as AsyncIterable<Buffer>, attempt)) {
          length += chunk.length;
          if (length > maxResponseBytes) break;
          collected.push(chunk);
        }
        const retryAfter = headers['retry-after'];
        return responseError(name, statusCode, Buffer.concat(collected), typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0]);
      } finally {
        attempt.close();
      }
    }
    return { code: statusCode, events, readError };
  } catch (err) {
    const error = attempt.toError(err);
    attempt.close();
    throw error;
  }
}

/** Passes the chunks through and converts errors of the connection to errors of the client. */
async function* withAttemptErrors(chunks: AsyncIterable<Buffer>, attempt: RequestAttempt): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (err) {
    throw attempt.toError(err);
  }
}

function idleTimeoutOf(query: ApiCall['query']): number {
  const seconds = Number(query?.['timeoutSeconds']);
  return (seconds > 0 ? seconds * 1000 : defaultTimeoutMs) + idleMarginMs;
}
