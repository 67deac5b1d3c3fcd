/**
 * Sends TokenReviews and SubjectAccessReviews for the server thread (upstream apiserver/plugin/pkg/authenticator/token/webhook and
 * authorizer/webhook): plain data in, the status of the review out. Caches nothing; the server thread does.
 */
import type { SubjectAccessReviewSpec, SubjectAccessReviewStatus, TokenReviewStatus } from '../../shared/contracts/server/calls.ts';
import {
  accessReviewDuration,
  accessReviewTries,
  tokenReviewDuration,
  tokenReviewTries,
} from '../../shared/metrics/definitions/authentication.ts';
import { withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ApiError, apiPath, type ApiClient } from './api-client.ts';

/** Upstream's DefaultAuthWebhookRetryBackoff: five attempts, with a delay of half a second after the first and half as much again after each further one. */
const maxAttempts = 5;
const initialDelayMs = 500;
const delayFactor = 1.5;
const delayJitter = 0.2;
const created = '201';
/** Limits all attempts together. A client of the server waits for the result. */
const deadlineMs = 10_000;

interface ReviewKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly trafficClass: 'tokenReview' | 'accessReview';
  readonly attempts: typeof tokenReviewTries;
  readonly duration: typeof tokenReviewDuration;
}
const tokenReview: ReviewKind = {
  group: 'authentication.k8s.io',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  trafficClass: 'tokenReview',
  attempts: tokenReviewTries,
  duration: tokenReviewDuration,
};
const accessReview: ReviewKind = {
  group: 'authorization.k8s.io',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  trafficClass: 'accessReview',
  attempts: accessReviewTries,
  duration: accessReviewDuration,
};

export interface Reviews {
  /** Rejects when the API server returned no status. */
  readonly reviewToken: (token: string, audiences?: readonly string[]) => Promise<TokenReviewStatus>;
  readonly reviewAccess: (spec: SubjectAccessReviewSpec) => Promise<SubjectAccessReviewStatus>;
}

export function createReviews(client: ApiClient, clock: Clock, random: () => number = Math.random): Reviews {
  async function review<S>({ group, plural, kind, trafficClass, attempts, duration }: ReviewKind, spec: object): Promise<S> {
    const controller = new AbortController();
    const timeout = new ApiError(0, 'Timeout', `no ${kind} within ${deadlineMs / 1000} s`);
    const cancel = clock.after(deadlineMs, () => controller.abort(timeout));
    try {
      for (let attempt = 1; ; attempt += 1) {
        const beganAtMs = clock.monotonic();
        const count = (code: string) => {
          attempts.inc({ code });
          duration.observe((clock.monotonic() - beganAtMs) / 1000, { code });
        };
        try {
          const response = await client.call<{ readonly status?: S } | undefined>({
            method: 'POST',
            path: apiPath('apis', group, 'v1', plural),
            body: { apiVersion: `${group}/v1`, kind, spec },
            trafficClass,
            deadlineMs,
            // A review stores nothing, so it may be repeated. This loop does so.
            maxAttempts: 1,
            signal: controller.signal,
          });
          if (!response?.status) throw new ApiError(0, 'Unreadable', `the answer to a ${kind} has no status`);
          count(created);
          return response.status;
        } catch (err) {
          count(err instanceof ApiError && err.code > 0 ? String(err.code) : '<error>');
          if (attempt >= maxAttempts || !isTransient(err)) throw err;
          await clock.sleep(withJitter(initialDelayMs * delayFactor ** (attempt - 1), delayJitter, random), controller.signal);
        }
      }
    } finally {
      cancel();
    }
  }
  return {
    reviewToken: (token, audiences = []) => {
      const spec = audiences.length === 0 ? { token } : { token, audiences };
      return review<TokenReviewStatus>(tokenReview, spec);
    },
    reviewAccess: (spec) => review<SubjectAccessReviewStatus>(accessReview, spec),
  };
}

/** Upstream's DefaultShouldRetry, plus failed connections. */
function isTransient(err: unknown): boolean {
  if (!(err instanceof ApiError)) return false;
  const { code, reason } = err;
  return reason === 'Unreachable' || reason === 'InternalError' || reason === 'Timeout' || code === 429 || err.retryAfterMs !== undefined;
}
