/** Which event is written next: pure. Events of one object keep their order; an event that waits for its next try holds up no other object. */
import type { CorrelatedEvent } from './event-correlator.ts';
import type { CoreEvent } from './event-object.ts';

export interface QueuedEvent {
  readonly event: CoreEvent;
  /** Monotonic ms. */
  readonly recordedAtMs: number;
  /** Made with the first try. */
  correlated?: CorrelatedEvent;
  tries: number;
  /** Monotonic ms. */
  notBeforeMs: number;
}

/** A place in the queue, or the monotonic ms from which on there will be one; Infinity: when a write has ended. */
export type NextEvent = { readonly at: number } | { readonly fromMs: number };

/** What a namespace may have under way: its webhook or its quota may not answer, and others must not wait for that. */
const writesPerNamespace = 2;

/** Of the events that may go, those with the fewest tries go first. */
export function nextEvent(queue: readonly QueuedEvent[], nowMs: number, underWay: readonly QueuedEvent[]): NextEvent {
  const busy = new Set(underWay.map(objectOf));
  const writes = Map.groupBy(underWay, ({ event }) => event.metadata.namespace);
  let best: number | undefined;
  let fromMs = Infinity;
  for (const [at, queued] of queue.entries()) {
    const object = objectOf(queued);
    if (busy.has(object)) continue;
    busy.add(object);
    if ((writes.get(queued.event.metadata.namespace)?.length ?? 0) >= writesPerNamespace) continue;
    if (queued.notBeforeMs > nowMs) fromMs = Math.min(fromMs, queued.notBeforeMs);
    else if (best === undefined || queued.tries < queue[best]!.tries) best = at;
    if (best !== undefined && queue[best]!.tries === 0) break;
  }
  return best === undefined ? { fromMs } : { at: best };
}

function objectOf({ event }: QueuedEvent): string {
  const { kind, namespace, name, uid } = event.involvedObject;
  return JSON.stringify([kind, namespace, name, uid]);
}
