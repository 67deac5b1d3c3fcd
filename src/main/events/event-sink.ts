/**
 * Where the kubelet's events go, and what they are about. Standalone they go to the log, in the form in which upstream's recorder logs
 * them, but for the rest of a burst; with an API server they go there too (api/events).
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { ObjectReference, Pod } from '../../shared/kubernetes/api.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { SpamFilter } from './spam-filter.ts';

export interface EventSink {
  record(event: RecordedEvent): void;
}

export class EventLog implements EventSink {
  readonly #logger: Logger;
  readonly #spam: SpamFilter;

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = logger;
    this.#spam = new SpamFilter(clock);
  }

  record(event: RecordedEvent): void {
    if (!this.#spam.admit(event)) return;
    const { object, type, reason, message } = event;
    const { kind, namespace, name, fieldPath = '' } = object;
    this.#logger.info(
      { object: namespace === '' ? name : `${namespace}/${name}`, fieldPath, kind, apiVersion: 'v1', type, reason, eventMessage: message },
      'Event occurred',
    );
  }
}

export function podReference(pod: Pod): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
