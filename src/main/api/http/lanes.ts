/**
 * The lanes of the kubelet's own traffic. Upstream has three clients (cmd/kubelet/app/server.go): heartbeats without a rate, events with a
 * rate of their own, and one for all the rest; here the class of a call says which it takes. Reviews have lanes of their own, because
 * clients of the server cause them: a flood of tokens delays neither the node's traffic nor the access reviews of known users.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { trafficClasses, type TrafficClass } from '../api-client.ts';
import { RequestLane } from './request-lane.ts';
import { effectiveLimit, type RateLimit } from './token-bucket.ts';

export interface LaneOptions {
  /** kubeAPIQPS, kubeAPIBurst. */
  readonly limit: RateLimit;
  /** eventRecordQPS, eventBurst. */
  readonly eventLimit: RateLimit;
  readonly clock: Clock;
}

/** One lease and one node status at a time, a retry of each, and some room. */
const heartbeatSlots = 8;
/**
 * At a server that takes half a second for each answer this still lets the default 50 a second through. Twice as many let a burst of a
 * hundred calls hold up main's event loop twice as long (an answer costs it some 0.3 ms).
 */
const callSlots = 32;
const eventSlots = 8;
/** Of token reviews, and of access reviews: with answers in 20 ms, 16 let 800 a second through, far above the rate. */
const reviewSlots = 16;
/**
 * A flood of invented tokens uses the whole rate, on each node that is flooded. Known users bring a few tokens a minute, whose reviews wait
 * behind eight others at most.
 */
const maxTokenReviewQPS = 20;
/** A full node's pods with some values each, all at once; a bound, not a limit that is met. */
const maxQueued = 10_000;

export interface Lanes {
  of(trafficClass: TrafficClass): { readonly lane: RequestLane; readonly rank: number };
  close(err: Error): void;
}

export function createLanes({ limit, eventLimit, clock }: LaneOptions): Lanes {
  const heartbeats = new RequestLane({ limit: null, slots: heartbeatSlots, maxQueued, clock });
  const calls = new RequestLane({ limit: effectiveLimit(limit), slots: callSlots, maxQueued, clock });
  const { qps, burst } = effectiveLimit(limit);
  const tokenLimit = { qps: Math.min(qps, maxTokenReviewQPS), burst };
  const tokenReviews = new RequestLane({ limit: tokenLimit, slots: reviewSlots, maxQueued, clock });
  const accessReviews = new RequestLane({ limit: effectiveLimit(limit), slots: reviewSlots, maxQueued, clock });
  const events = new RequestLane({ limit: effectiveLimit(eventLimit), slots: eventSlots, maxQueued, clock });
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
    of: (trafficClass) => ({ lane: laneOf[trafficClass], rank: trafficClasses.indexOf(trafficClass) }),
    close: (err) => [heartbeats, calls, tokenReviews, accessReviews, events].forEach((lane) => lane.close(err)),
  };
}

/** Whether calls of this class are heartbeats, which have a shorter deadline. */
export function isHeartbeat(trafficClass: TrafficClass): boolean {
  return trafficClass === 'lease' || trafficClass === 'node';
}
