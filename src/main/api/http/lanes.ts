/**
 * Assigns each traffic class to a lane: a queue with its own rate limit and request slots (request-lane.ts). Upstream has three clients
 * (cmd/kubelet/app/server.go): heartbeats without a rate limit, events with a separate limit, and one for everything else. Token reviews and
 * access reviews have separate lanes because clients of the kubelet's server cause them: a flood of tokens delays neither the node's traffic nor
 * the access reviews of known users.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { trafficClasses, type TrafficClass } from '../api-client.ts';
import { RequestLane } from './request-lane.ts';
import { effectiveLimit, type RateLimit } from '../../../shared/concurrency/token-bucket.ts';

export interface ApiRateLimits {
  /** From kubeAPIQPS and kubeAPIBurst. */
  readonly limit: RateLimit;
  /** From eventRecordQPS and eventBurst. */
  readonly eventLimit: RateLimit;
}

export interface LaneOptions extends ApiRateLimits {
  readonly clock: Clock;
}

/** One lease and one node status call at a time, a retry of each, and a reserve. */
const heartbeatSlots = 8;
/**
 * With a server that takes half a second per response, 32 slots still pass the default 50 calls a second. 64 slots would let a burst of a
 * hundred calls block main's event loop twice as long (a response costs about 0.3 ms).
 */
const callSlots = 32;
const eventSlots = 8;
/** Token reviews and access reviews have 16 slots each. With responses in 20 ms these pass 800 reviews a second, far above the rate limit. */
const reviewSlots = 16;
/**
 * A flood of invented tokens uses up the whole rate on each flooded node. Known users present a few tokens a minute, and their reviews wait
 * behind at most eight others, because the server thread runs eight at a time (workers/server/auth/token-reviews.ts).
 */
const maxTokenReviewQPS = 20;
/** Bounds memory. The pods of a full node with several objects each, all at once, stay below this. */
const maxQueued = 10_000;

export interface Lanes {
  forClass(trafficClass: TrafficClass): { readonly lane: RequestLane; readonly rank: number };
  /** Replaces the rate limits, also for calls that wait already. */
  setLimits(limits: ApiRateLimits): void;
  close(err: Error): void;
}

/** The limits of the lanes that have one. */
function lanesLimits({ limit, eventLimit }: ApiRateLimits) {
  const calls = effectiveLimit(limit);
  return { calls, tokenReviews: { ...calls, qps: Math.min(calls.qps, maxTokenReviewQPS) }, events: effectiveEventLimit(eventLimit) };
}

/** eventRecordQPS 0: events have no limit. */
function effectiveEventLimit({ qps, burst }: RateLimit): RateLimit {
  return effectiveLimit({ qps: qps === 0 ? Infinity : qps, burst });
}

export function createLanes({ clock, ...configured }: LaneOptions): Lanes {
  const limits = lanesLimits(configured);
  const heartbeats = new RequestLane({ limit: null, slots: heartbeatSlots, maxQueued, clock });
  const calls = new RequestLane({ limit: limits.calls, slots: callSlots, maxQueued, clock });
  const tokenReviews = new RequestLane({ limit: limits.tokenReviews, slots: reviewSlots, maxQueued, clock });
  const accessReviews = new RequestLane({ limit: limits.calls, slots: reviewSlots, maxQueued, clock });
  const events = new RequestLane({ limit: limits.events, slots: eventSlots, maxQueued, clock });
  const laneOf = {
    lease: heartbeats,
    node: heartbeats,
    accessReview: accessReviews,
    tokenReview: tokenReviews,
    status: calls,
    objects: calls,
    pods: calls,
    events,
  } as const;
  return {
    forClass: (trafficClass) => ({ lane: laneOf[trafficClass], rank: trafficClasses.indexOf(trafficClass) }),
    setLimits: (changed) => {
      const next = lanesLimits(changed);
      calls.setLimit(next.calls);
      accessReviews.setLimit(next.calls);
      tokenReviews.setLimit(next.tokenReviews);
      events.setLimit(next.events);
    },
    close: (err) => [heartbeats, calls, tokenReviews, accessReviews, events].forEach((lane) => lane.close(err)),
  };
}

/** Heartbeats have a shorter deadline than other calls. */
export function isHeartbeat(trafficClass: TrafficClass): boolean {
  return trafficClass === 'lease' || trafficClass === 'node';
}
