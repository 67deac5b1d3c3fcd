/**
 * Bearer tokens, as the API server judges them: asked once for all who bring the same token at the same time, and the answer kept for
 * a while. A token is kept as its keyed digest only. Tokens that nobody knows share a bounded queue; one that was good before passes it
 * by, so that a flood of invented ones does not lock its bearer out. Upstream: apiserver pkg/authentication/token/cache and plugin webhook.
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

/** Upstream keeps 32 stripes of 1024 for both kinds; here invented tokens displace no good one. */
const acceptedCapacity = 8192;
const refusedCapacity = 4096;
/**
 * The API server refuses a token with an error, which upstream does not keep. It may mean that the API server could not tell, so the
 * answer is kept for less time than others.
 */
const maxRefusedTTLMs = 10_000;
/** A good token is remembered for as long as service accounts' tokens are used by default. */
const rememberedMs = 3_600_000;
const rememberedCapacity = 1024;
/** A review carries the token to the API server; the largest that identity providers issue are below. */
const maxTokenLength = 16 * 1024;
const queueLimits = { slots: 8, maxWaiting: 256, maxWaitingPerAddress: 32, maxWaitMs: 5_000 };

export interface TokenReviewsOptions {
  readonly reviewToken: MainApi['reviewToken'];
  readonly cacheTTLMs: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

/** The client that brings a token. */
export interface TokenBearer {
  readonly address: string;
  /** Its connection has ended: nobody waits for the verdict. */
  readonly isDisconnected: () => boolean;
}

interface Review {
  readonly bearers: TokenBearer[];
  readonly verdict: Promise<AuthenticationResult>;
}

export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #accepted: ExpiringCache<AuthenticationResult>;
  readonly #refused: ExpiringCache<AuthenticationResult>;
  /** Digests of tokens that were good, also when their verdict has expired. */
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

  /** Never rejects: a review that could not be had is an error of the request. It is not kept. */
  async authenticate(token: string, bearer: TokenBearer): Promise<AuthenticationResult> {
    if (token.length > maxTokenLength) return { type: 'error', message: `a token of ${token.length} characters is not looked at` };
    const beganAtMs = this.#options.clock.monotonic();
    const key = createHmac('sha256', this.#salt).update(token).digest('base64');
    const known = this.#accepted.get(key) ?? this.#refused.get(key);
    const verdict = known ?? (await this.#awaited(key, token, bearer));
    const status = known ? 'hit' : 'miss';
    tokenCacheRequests.inc({ status });
    tokenCacheRequestDuration.observe((this.#options.clock.monotonic() - beganAtMs) / 1000, { status });
    return verdict;
  }

  async #awaited(key: string, token: string, bearer: TokenBearer): Promise<AuthenticationResult> {
    tokenCacheActiveFetches.add(1, { status: 'blocked' });
    try {
      const underWay = this.#reviews.get(key);
      underWay?.bearers.push(bearer);
      return await (underWay ?? this.#begin(key, token, bearer)).verdict;
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'blocked' });
    }
  }

  #begin(key: string, token: string, bearer: TokenBearer): Review {
    const bearers = [bearer];
    const isWanted = () => !bearers.every(({ isDisconnected: isGone }) => isGone());
    const verdict = this.#inTurn(key, bearer.address, isWanted, () => this.#ask(key, token)).finally(() => this.#reviews.delete(key));
    const review = { bearers, verdict };
    this.#reviews.set(key, review);
    return review;
  }

  async #inTurn(
    key: string,
    address: string,
    isWanted: () => boolean,
    ask: () => Promise<AuthenticationResult>,
  ): Promise<AuthenticationResult> {
    if (this.#remembered.get(key)) return ask();
    const release = await this.#queue.acquire(address, isWanted);
    if (release === null) return { type: 'busy' };
    return ask().finally(release);
  }

  async #ask(key: string, token: string): Promise<AuthenticationResult> {
    tokenCacheActiveFetches.add(1, { status: 'in_flight' });
    try {
      const status = await this.#options.reviewToken(token);
      const verdict = verdictOn(status);
      this.#keep(key, verdict);
      tokenCacheFetches.inc({ status: verdict.type === 'error' && (status.error ?? '') !== '' ? 'error' : 'ok' });
      return verdict;
    } catch (err) {
      tokenCacheFetches.inc({ status: 'error' });
      return { type: 'error', message: messageOf(err) };
    } finally {
      tokenCacheActiveFetches.add(-1, { status: 'in_flight' });
    }
  }
  #keep(key: string, verdict: AuthenticationResult): void {
    const { cacheTTLMs } = this.#options;
    if (verdict.type === 'user') {
      this.#accepted.set(key, verdict, cacheTTLMs);
      this.#remembered.set(key, true, rememberedMs);
    } else {
      this.#refused.set(key, verdict, Math.min(cacheTTLMs, maxRefusedTTLMs));
    }
  }
}

function verdictOn({ authenticated, user, error }: TokenReviewStatus): AuthenticationResult {
  if (authenticated !== true) return { type: 'error', message: error || 'invalid bearer token' };
  const { username = '', uid = '', groups = [], extra = {} } = user ?? {};
  return { type: 'user', user: { name: username, uid, groups, extra } };
}
