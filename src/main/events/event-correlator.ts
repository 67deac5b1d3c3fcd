/**
 * Combines similar events, counts repeated ones and drops events beyond the rate limit (client-go tools/record: EventCorrelator). Its
 * memory is bounded.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../shared/time/clock.ts';
import { toApiTime } from '../../shared/kubernetes/api-time.ts';
import { eventName, type CoreEvent } from './event-object.ts';
import { LruMap } from './lru-map.ts';
import { SpamFilter } from './spam-filter.ts';

/** client-go's defaults: from the 10th event on, events that differ only in their message are combined, each within 10 minutes of the last. */
const maxSimilar = 10;
const similarWithinMs = 10 * 60 * 1000;
const rememberedEvents = 4096;

export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp: string;
  readonly message: string;
}

export interface CorrelatedEvent {
  readonly event: CoreEvent;
  /** The patch of the existing event of this name; null for the first event. */
  readonly patch: EventPatch | null;
}

interface Similar {
  /** Hashes of the different messages. */
  readonly messages: Set<string>;
  readonly lastAtMs: number;
}

/** The last version of an event that was sent. The server's responses are not needed: no patch depends on a resource version. */
interface Observation {
  readonly name: string;
  readonly count: number;
  readonly firstTimestamp: string;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #nextNanos: () => bigint;
  readonly #spamFilter: SpamFilter;
  readonly #similar = new LruMap<string, Similar>(rememberedEvents);
  readonly #observed = new LruMap<string, Observation>(rememberedEvents);

  /** `nextNanos` supplies the suffix of a combined event's name. */
  constructor(clock: Clock, nextNanos: () => bigint) {
    this.#clock = clock;
    this.#nextNanos = nextNanos;
    this.#spamFilter = new SpamFilter(clock);
  }

  /** Null when the object has exceeded its rate. A dropped event is counted nevertheless. */
  correlate(event: CoreEvent): CorrelatedEvent | null {
    const { combined, key } = this.#combine(event);
    const correlated = this.#observe(combined, key);
    const { namespace = '', name = '', uid = '', kind = '' } = event.involvedObject;
    return this.#spamFilter.admit({ object: { kind, namespace, name, uid }, type: event.type }) ? correlated : null;
  }

  #combine(event: CoreEvent): { readonly combined: CoreEvent; readonly key: string } {
    const { kind, namespace, name, uid, fieldPath } = event.involvedObject;
    const nowMs = this.#clock.now();
    const similarKey = keyOf(kind, namespace, name, uid, event.type, event.reason);
    const similarEvents = this.#similar.get(similarKey);
    const messages = similarEvents && nowMs - similarEvents.lastAtMs <= similarWithinMs ? similarEvents.messages : new Set<string>();
    messages.add(keyOf(event.message));
    this.#similar.set(similarKey, { messages, lastAtMs: nowMs });
    if (messages.size < maxSimilar)
      return { combined: event, key: keyOf(kind, namespace, name, fieldPath, uid, event.type, event.reason, event.message) };
    // The set stays one below the limit, so that every further message is combined.
    messages.delete(messages.values().next().value as string);
    const timestamp = toApiTime(nowMs);
    const combined = {
      ...event,
      metadata: { ...event.metadata, name: eventName(name ?? '', this.#nextNanos()) },
      message: `(combined from similar events): ${event.message}`,
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
    };
    return { combined, key: similarKey };
  }

  #observe(event: CoreEvent, key: string): CorrelatedEvent {
    const lastObserved = this.#observed.get(key);
    if (!lastObserved) {
      this.#observed.set(key, { name: event.metadata.name, count: 1, firstTimestamp: event.firstTimestamp });
      return { event, patch: null };
    }
    const { name, firstTimestamp } = lastObserved;
    const count = lastObserved.count + 1;
    this.#observed.set(key, { name, count, firstTimestamp });
    const { lastTimestamp, message } = event;
    return { event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count }, patch: { count, lastTimestamp, message } };
  }
}

/** JSON makes the key unambiguous: no part can contain the separator. A hash, since thousands of messages are remembered. */
function keyOf(...parts: readonly (string | undefined)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64');
}
