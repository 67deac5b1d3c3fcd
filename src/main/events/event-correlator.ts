/**
 * What becomes of an event before it is sent: similar ones are combined, repeated ones counted, too many left out (client-go
 * tools/record: EventCorrelator). Nothing is sent here; what it remembers is bounded.
 */
import type { Clock } from '../../shared/time/clock.ts';
import { eventName, toTimestamp, type CoreEvent } from './event-object.ts';
import { LruMap } from './lru-map.ts';
import { SpamFilter } from './spam-filter.ts';

/** client-go's defaults: so many that differ only in their message, each within this time of the last, are one from then on. */
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
  /** What to change of the event of this name that is there already; null: it is the first. */
  readonly patch: EventPatch | null;
}

interface Similar {
  readonly messages: Set<string>;
  readonly lastAtMs: number;
}

/** What the API server was told of an event. Its answers add nothing: no patch depends on a resource version. */
interface Observation {
  readonly name: string;
  readonly count: number;
  readonly firstTimestamp: string;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #nextNanos: () => bigint;
  readonly #spam: SpamFilter;
  readonly #similar = new LruMap<string, Similar>(rememberedEvents);
  readonly #observed = new LruMap<string, Observation>(rememberedEvents);

  /** `nextNanos` names a combined event. */
  constructor(clock: Clock, nextNanos: () => bigint) {
    this.#clock = clock;
    this.#nextNanos = nextNanos;
    this.#spam = new SpamFilter(clock);
  }

  /** Null: there were too many about this object. One that is left out still counts. */
  correlate(event: CoreEvent): CorrelatedEvent | null {
    const { combined, key } = this.#combine(event);
    const correlated = this.#observe(combined, key);
    const { namespace = '', name = '', uid = '', kind = '' } = event.involvedObject;
    return this.#spam.admit({ object: { kind, namespace, name, uid }, type: event.type }) ? correlated : null;
  }

  #combine(event: CoreEvent): { readonly combined: CoreEvent; readonly key: string } {
    const { kind, namespace, name, uid, fieldPath } = event.involvedObject;
    const nowMs = this.#clock.now();
    const similarKey = keyOf(kind, namespace, name, uid, event.type, event.reason);
    const known = this.#similar.get(similarKey);
    const messages = known && nowMs - known.lastAtMs <= similarWithinMs ? known.messages : new Set<string>();
    messages.add(event.message);
    this.#similar.set(similarKey, { messages, lastAtMs: nowMs });
    if (messages.size < maxSimilar)
      return { combined: event, key: keyOf(kind, namespace, name, fieldPath, uid, event.type, event.reason, event.message) };
    // The set stays at its limit: from here on every other message keeps it full.
    messages.delete(messages.values().next().value as string);
    const timestamp = toTimestamp(nowMs);
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
    const last = this.#observed.get(key);
    if (!last) {
      this.#observed.set(key, { name: event.metadata.name, count: 1, firstTimestamp: event.firstTimestamp });
      return { event, patch: null };
    }
    const { name, firstTimestamp } = last;
    const count = last.count + 1;
    this.#observed.set(key, { name, count, firstTimestamp });
    const { lastTimestamp, message } = event;
    return { event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count }, patch: { count, lastTimestamp, message } };
  }
}

/** No part can look like the border between two. */
function keyOf(...parts: readonly (string | undefined)[]): string {
  return JSON.stringify(parts);
}
