/**
 * Authenticates bearer tokens by TokenReviews of the API server. Concurrent requests with the same token share one review, and results
 * are cached under a keyed digest of the token. Unknown tokens share a bounded queue. A token that was accepted before skips the queue, so
 * that a flood of invalid tokens does not lock out the owner of a valid one. Upstream: apiserver pkg/authentication/token/cache and plugin webhook.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { MainApi, TokenReviewStatus } from '../../../shared/contracts/server/calls.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import {
  tokenCacheActiveFetches,
  tokenCacheFetches,
  tokenCacheRequestDuration,
  tokenCacheRequests,
} from '../../../shared/metrics/definitions/authentication.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ExpiringCache } from './expiring-cache.ts';
import { ReviewQueue } from './review-queue.ts';
import type { AuthenticationResult } from './user.ts';

/** Upstream has 32 stripes of 1024 for both kinds. Two caches keep invalid tokens from evicting accepted ones. */
const acceptedCapacity = 8192;
const refusedCapacity = 4096;
/**
 * The API server reports an invalid token as an error, which upstream does not cache. The error may also be a temporary failure of the API
 * server, so refusals are cached for a shorter time.
 */
const maxRefusedTTLMs = 10_000;
/** The default lifetime of a service account token. */
const rememberedMs = 3_600_000;
const rememberedCapacity = 1024;
/** A review sends the token to the API server. The largest tokens of identity providers are smaller. */
const maxTokenLength = 16 * 1024;
const queueLimits = { slots: 8, maxWaiting: 256, maxWaitingPerAddress: 32, maxWaitMs: 5_000 };

export interface TokenReviewsOptions {
  readonly reviewToken: MainApi['reviewToken'];
  readonly cacheTTLMs: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

/** The client that sent a token. */
export interface TokenBearer {
  readonly address: string;
  /** The connection has ended, so the result is not needed. */
  readonly isDisconnected: () => boolean;
}

interface Review {
  readonly bearers: TokenBearer[];
  readonly result: Promise<AuthenticationResult>;
}

export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #accepted: ExpiringCache<AuthenticationResult>;
  readonly #refused: ExpiringCache<AuthenticationResult>;
  /** Digests of accepted tokens. They outlast the cached results. */
  readonly #remembered: ExpiringCache<true>;
  readonly #queue: ReviewQueue;
  readonly #reviews = new Map<string, Review>();
  readonly #salt = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#accepted = new ExpiringCache(clock, acceptedCapacity);
    this.#refused = new ExpiringCache(clock, refusedCapacity);
    this.#remembered = new ExpiringCache(clock, rememberedCapacity);
    this.#queue = new ReviewQueue({ ...queueLimits, clock });
  }

  /** Never rejects: a failed review is an authentication error, which is not cached. */
  async authenticate(token: string, bearer: TokenBearer): Promise<AuthenticationResult> {
    if (token.length > maxTokenLength) return { type: 'error', message: `token is too long (${token.length} characters)` };
    const startedAtMs = this.#options.clock.monotonic();
    const key = createHmac('sha256', this.#salt).update(token).digest('base64');
    const cached = this.#accepted.get(key) ?? this.#refused.get(key);
    const result = cached ?? (await this.#joinReview(key, token, bearer));
    const status = cached ? 'hit' : 'miss';
    tokenCacheRequests.inc({ status });
    tokenCacheRequestDuration.observe((this.#options.clock.monotonic() - startedAtMs) / 1000, { status });
    return result;
  }

  async #joinReview(key: string, token: string, bearer: TokenBearer): Promise<AuthenticationResult> {
    tokenCacheActiveFetches.add(1, { status: 'blocked' });
    try {
      const current = this.#reviews.get(key);
      current?.bearers.push(bearer);
      return await (current ?? this.#startReview(key, token, bearer)).result;
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'blocked' });
    }
  }

  #startReview(key: string, token: string, bearer: TokenBearer): Review {
    const bearers = [bearer];
    const isWanted = () => !bearers.every(({ isDisconnected }) => isDisconnected());
    const result = this.#runQueued(key, bearer.address, isWanted, () => this.#review(key, token)).finally(() => this.#reviews.delete(key));
    const review = { bearers, result };
    this.#reviews.set(key, review);
    return review;
  }

  async #runQueued(
    key: string,
    address: string,
    isWanted: () => boolean,
    review: () => Promise<AuthenticationResult>,
  ): Promise<AuthenticationResult> {
    if (this.#remembered.get(key)) return review();
    const release = await this.#queue.acquire(address, isWanted);
    if (release === null) return { type: 'busy' };
    return review().finally(release);
  }

  async #review(key: string, token: string): Promise<AuthenticationResult> {
    tokenCacheActiveFetches.add(1, { status: 'in_flight' });
    try {
      const status = await this.#options.reviewToken(token);
      const result = toAuthenticationResult(status);
      this.#cache(key, result);
      // A review that refuses the token without an error has succeeded.
      tokenCacheFetches.inc({ status: result.type === 'error' && (status.error ?? '') !== '' ? 'error' : 'ok' });
      return result;
    } catch (err) {
      tokenCacheFetches.inc({ status: 'error' });
      return { type: 'error', message: messageOf(err) };
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'in_flight' });
    }
  }

  #cache(key: string, result: AuthenticationResult): void {
    const { cacheTTLMs } = this.#options;
    if (result.type === 'user') {
      this.#accepted.set(key, result, cacheTTLMs);
      this.#remembered.set(key, true, rememberedMs);
    } else {
      this.#refused.set(key, result, Math.min(cacheTTLMs, maxRefusedTTLMs));
    }
  }
}

function toAuthenticationResult({ authenticated, user, error }: TokenReviewStatus): AuthenticationResult {
  if (authenticated !== true) return { type: 'error', message: error || 'invalid bearer token' };
  const { username = '', uid = '', groups = [], extra = {} } = user ?? {};
  return { type: 'user', user: { name: username, uid, groups, extra } };
}
