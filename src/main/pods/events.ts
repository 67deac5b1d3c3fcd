/**
 * Where the kubelet's events go: standalone, to the log, in the form in which upstream's recorder logs them. A burst about one object
 * is cut off as upstream does (client-go tools/record: EventSourceObjectSpamFilter), so that a pod that fails for days does not fill the log.
 */
import type { RecordedEvent } from '../../shared/contracts/pod-sync.ts';
import type { ObjectReference, Pod } from '../../shared/kubernetes/api.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface EventSink {
  record(event: RecordedEvent): void;
}

/** client-go's defaults: this many at once about one object, then one each five minutes; the objects that are remembered. */
const burst = 25;
const refillMs = 5 * 60 * 1000;
const rememberedObjects = 4096;

interface Bucket {
  tokens: number;
  updatedAtMs: number;
}

export class EventLog implements EventSink {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  record({ object, type, reason, message }: RecordedEvent): void {
    if (!this.#admit(`${object.kind}/${object.namespace}/${object.name}/${object.uid}/${type}`)) return;
    const { kind, namespace, name, fieldPath = '' } = object;
    this.#logger.info(
      { object: `${namespace}/${name}`, fieldPath, kind, apiVersion: 'v1', type, reason, eventMessage: message },
      'Event occurred',
    );
  }

  #admit(key: string): boolean {
    const nowMs = this.#clock.monotonic();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, updatedAtMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.updatedAtMs) / refillMs);
    bucket.updatedAtMs = nowMs;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > rememberedObjects) this.#buckets.delete(this.#buckets.keys().next().value!);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

export function podReference(pod: Pod): ObjectReference {
  const { namespace, name, uid } = pod.metadata;
  return { kind: 'Pod', namespace, name, uid };
}
