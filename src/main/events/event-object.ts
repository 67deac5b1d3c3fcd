/** An event as the API server keeps it: core/v1, as client-go's recorder makes it (tools/record). */
import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { ObjectReference } from '../../shared/kubernetes/api.ts';

/** Who says it: a node's kubelet. */
export interface EventSource {
  readonly component: string;
  readonly host: string;
}

export interface CoreEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly involvedObject: Partial<ObjectReference>;
  readonly type: RecordedEvent['type'];
  readonly reason: string;
  readonly message: string;
  readonly source: EventSource;
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  /** RFC 3339 in whole seconds: the API keeps no more of them. */
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
  /** Of the newer form of events; null marks the older one. */
  readonly eventTime: null;
}

/** `nanos`: since the epoch, for the name; no two events may have the same. */
export function toCoreEvent(
  { object, type, reason, message }: RecordedEvent,
  source: EventSource,
  nowMs: number,
  nanos: bigint,
): CoreEvent {
  const timestamp = toTimestamp(nowMs);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // What is said of a cluster's object, as a Node is, is kept in the namespace that is always there.
    metadata: { name: eventName(object.name, nanos), namespace: object.namespace === '' ? 'default' : object.namespace },
    involvedObject: withoutEmpty({ apiVersion: 'v1', ...object }),
    type,
    reason,
    message,
    source,
    reportingComponent: source.component,
    reportingInstance: source.host,
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    count: 1,
    eventTime: null,
  };
}

/** RFC 3339 without a fraction: Go's metav1.Time. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

const maxNameLength = 253;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A name that is none for an object of the API is given up for one that is. */
export function eventName(objectName: string, nanos: bigint): string {
  const name = `${objectName}.${nanos.toString(16)}`;
  return name.length <= maxNameLength && dnsSubdomain.test(name) ? name : randomUUID();
}

function withoutEmpty(object: ObjectReference): Partial<ObjectReference> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== '' && value !== undefined));
}
