/**
 * Bearer tokens, as the API server judges them: asked once for all who bring the same token at the same time, and the answer kept for
 * a while. A token is kept as its keyed digest only. Upstream: apiserver pkg/authentication/token/cache and plugin webhook.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { SingleFlight } from '../../../shared/concurrency/single-flight.ts';
import type { ServerUpcalls, TokenReviewStatus } from '../../../shared/contracts/server.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import {
  tokenCacheActiveFetches,
  tokenCacheFetches,
  tokenCacheRequestDuration,
  tokenCacheRequests,
} from '../../../shared/metrics/definitions/authentication.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { Verdict } from './user.ts';

/** Upstream keeps 32 stripes of 1024. */
const cacheCapacity = 32_768;

export interface TokenReviewsOptions {
  readonly reviewToken: ServerUpcalls['reviewToken'];
  readonly cacheTTLMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #cache: ExpiringCache<Verdict>;
  readonly #reviews = new SingleFlight<string, Verdict>();
  readonly #salt = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#cache = new ExpiringCache(options.clock, cacheCapacity);
  }

  /** Never rejects: a review that could not be had is an error of the request. It is not kept. */
  async judge(token: string): Promise<Verdict> {
    const beganAtMs = this.#options.clock.monotonic();
    const key = createHmac('sha256', this.#salt).update(token).digest('base64');
    const known = this.#cache.get(key);
    const verdict = known ?? (await this.#awaited(key, token));
    const status = known ? 'hit' : 'miss';
    tokenCacheRequests.inc({ status });
    tokenCacheRequestDuration.observe((this.#options.clock.monotonic() - beganAtMs) / 1000, { status });
    return verdict;
  }

  async #awaited(key: string, token: string): Promise<Verdict> {
    tokenCacheActiveFetches.add(1, { status: 'blocked' });
    try {
      return await this.#reviews.run(key, () => this.#ask(key, token));
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'blocked' });
    }
  }

  async #ask(key: string, token: string): Promise<Verdict> {
    tokenCacheActiveFetches.add(1, { status: 'in_flight' });
    try {
      const status = await this.#options.reviewToken(token);
      const verdict = verdictOn(status);
      if (status.authenticated === true || (status.error ?? '') === '') this.#cache.set(key, verdict, this.#options.cacheTTLMs);
      tokenCacheFetches.inc({ status: verdict.type === 'error' && (status.error ?? '') !== '' ? 'error' : 'ok' });
      return verdict;
    } catch (err) {
      tokenCacheFetches.inc({ status: 'error' });
      return { type: 'error', message: messageOf(err) };
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'in_flight' });
    }
  }
}

function verdictOn({ authenticated, user, error }: TokenReviewStatus): Verdict {
  if (authenticated !== true) return { type: 'error', message: error || 'invalid bearer token' };
  const { username = '', uid = '', groups = [], extra = {} } = user ?? {};
  return { type: 'user', user: { name: username, uid, groups, extra } };
}
