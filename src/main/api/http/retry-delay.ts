/**
 * Decides whether and when a failed call is retried (upstream client-go/rest/with_retry.go). A response is retried only if it has a
 * Retry-After. Without a response, only a call that was certainly not executed, or that may be executed twice, is retried.
 */
import { withJitter } from '../../../shared/time/backoff.ts';
import type { ApiCall } from '../api-client.ts';
import { maxRetryAfterMs } from './response-error.ts';

/** client-go retries ten times. */
export const maxAttempts = 11;
/** Without any response the call fails early: its caller has a back-off and other work. */
const maxAttemptsWithoutResponse = 4;
const initialDelayMs = 100;
const maxDelayMs = 2_000;

export type AttemptFailure =
  /** The server responded. */
  | { readonly kind: 'answered'; readonly code: number; readonly retryAfterMs: number | undefined }
  /** No connection was made, or the server refused the request unread. */
  | { readonly kind: 'not sent' }
  /** The connection was lost, so the server may or may not have executed the call. */
  | { readonly kind: 'lost' }
  /** The deadline passed, or the response can't be read. */
  | { readonly kind: 'final' };

/**
 * @param attempts the number of attempts so far, including this one
 * @returns the delay until the next attempt, or null when the call fails
 */
export function requestRetryDelayMs(
  method: ApiCall['method'],
  failure: AttemptFailure,
  attempts: number,
  limit: number = maxAttempts,
  random: () => number = Math.random,
): number | null {
  if (attempts >= limit) return null;
  switch (failure.kind) {
    case 'answered': {
      const { code, retryAfterMs } = failure;
      // The caller decides on a longer wait.
      if (retryAfterMs === undefined || retryAfterMs > maxRetryAfterMs || (code !== 429 && code < 500)) return null;
      // All clients get the same Retry-After, so jitter spreads their retries.
      return withJitter(retryAfterMs, 0.1, random);
    }
    case 'lost':
      return method === 'GET' ? noResponseDelayMs(attempts, random) : null;
    case 'not sent':
      return noResponseDelayMs(attempts, random);
    case 'final':
      return null;
    default:
      return failure satisfies never;
  }
}

function noResponseDelayMs(attempts: number, random: () => number): number | null {
  if (attempts >= maxAttemptsWithoutResponse) return null;
  return withJitter(Math.min(initialDelayMs * 2 ** (attempts - 1), maxDelayMs), 1, random);
}
