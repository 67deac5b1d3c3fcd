/** Selects the event that is written next. Pure. Events of one object keep their order; a retry delays no other object's events. */
import type { CorrelatedEvent } from './event-correlator.ts';
import type { CoreEvent } from './event-object.ts';

export interface QueuedEvent {
  readonly event: CoreEvent;
  /** Monotonic ms. */
  readonly recordedAtMs: number;
  /** Set by the first try. */
  correlated?: CorrelatedEvent;
  tries: number;
  /** Monotonic ms of the next try. */
  notBeforeMs: number;
}

/** An index in the queue, or the monotonic ms at which to select again; Infinity when only the end of a write makes an event writable. */
export type NextEvent = { readonly index: number } | { readonly fromMs: number };

/** Limits the writes per namespace: a namespace's admission webhook may not respond, and must not block other namespaces. */
const writesPerNamespace = 2;

/** Prefers the events with the fewest tries. */
export function selectNextEvent(queue: readonly QueuedEvent[], nowMs: number, inFlight: readonly QueuedEvent[]): NextEvent {
  const busy = new Set(inFlight.map(objectOf));
  const writes = Map.groupBy(inFlight, ({ event }) => event.metadata.namespace);
  let best: number | undefined;
  let fromMs = Infinity;
  for (const [index, queued] of queue.entries()) {
    const object = objectOf(queued);
    if (busy.has(object)) continue;
    busy.add(object);
    if ((writes.get(queued.event.metadata.namespace)?.length ?? 0) >= writesPerNamespace) continue;
    if (queued.notBeforeMs > nowMs) fromMs = Math.min(fromMs, queued.notBeforeMs);
    else if (best === undefined || queued.tries < queue[best]!.tries) best = index;
    if (best !== undefined && queue[best]!.tries === 0) break;
  }
  return best === undefined ? { fromMs } : { index: best };
}

function objectOf({ event }: QueuedEvent): string {
  const { kind, namespace, name, uid } = event.involvedObject;
  return JSON.stringify([kind, namespace, name, uid]);
}
