/**
 * Whether a call that failed is made again, and when (upstream client-go/rest/with_retry.go). What the server asks to repeat it asks by
 * Retry-After; without an answer only what can't have been done, or may be done twice, is repeated.
 */
import { withJitter } from '../../../shared/time/backoff.ts';
import type { ApiCall } from '../api-client.ts';
import { maxRetryAfterMs } from './response-error.ts';

/** client-go: ten retries. */
export const maxAttempts = 11;
/** Without any answer, soon the caller should hear of it: it has its own back-off, and other things to do. */
const maxAttemptsWithoutResponse = 4;
const initialDelayMs = 100;
const maxDelayMs = 2_000;

export type AttemptFailure =
  /** The server answered. */
  | { readonly kind: 'answered'; readonly code: number; readonly retryAfterMs: number | undefined }
  /** No connection was made, or the server has refused the request unread. */
  | { readonly kind: 'not sent' }
  /** The connection was lost: nobody knows whether it was done. */
  | { readonly kind: 'lost' }
  /** The deadline passed, or the answer can't be read. */
  | { readonly kind: 'final' };

/**
 * @param attempts made so far, this one included
 * @returns ms until the next attempt, or null when this failure is the call's
 */
export function retryDelayMs(
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
      // A longer wait is the caller's to decide on.
      if (retryAfterMs === undefined || retryAfterMs > maxRetryAfterMs || (code !== 429 && code < 500)) return null;
      // Everyone was told the same second.
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
