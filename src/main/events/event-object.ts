/** The API object of an event: core/v1, as client-go's recorder creates it (tools/record). */
import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import { toApiTime } from '../../shared/kubernetes/api-time.ts';
import type { ObjectReference } from '../../shared/kubernetes/api.ts';

/** The reporting component: this node's kubelet. */
export interface EventSource {
  readonly component: string;
  readonly host: string;
}

export interface CoreEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly involvedObject: Partial<ObjectReference>;
  readonly type: RecordedEvent['type'];
  readonly reason: string;
  readonly message: string;
  readonly source: EventSource;
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  /** Both timestamps: RFC 3339 with whole seconds, the precision of metav1.Time. */
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
  /** A field of events.k8s.io/v1; null in core/v1 events. */
  readonly eventTime: null;
}

/** `nanos` is the time since the epoch and becomes part of the name: it must be unique. */
export function toCoreEvent(
  { object, type, reason, message, annotations }: RecordedEvent,
  source: EventSource,
  nowMs: number,
  nanos: bigint,
): CoreEvent {
  const timestamp = toApiTime(nowMs);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // Events about cluster-scoped objects such as Nodes go to the default namespace, which always exists.
    metadata: {
      name: eventName(object.name, nanos),
      namespace: object.namespace === '' ? 'default' : object.namespace,
      ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
    },
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

const maxNameLength = 253;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Falls back to a random UUID when the object's name makes no valid event name. */
export function eventName(objectName: string, nanos: bigint): string {
  const name = `${objectName}.${nanos.toString(16)}`;
  return name.length <= maxNameLength && dnsSubdomain.test(name) ? name : randomUUID();
}

function withoutEmpty(object: ObjectReference): Partial<ObjectReference> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== '' && value !== undefined));
}
