/** Writes events to the log in the form of upstream's recorder, rate-limited per object. A standalone kubelet has no other event sink. */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from './event-sink.ts';
import { SpamFilter } from './spam-filter.ts';

export class EventLog implements EventSink {
  readonly #logger: Logger;
  readonly #spamFilter: SpamFilter;

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = logger;
    this.#spamFilter = new SpamFilter(clock);
  }

  record(event: RecordedEvent): void {
    if (!this.#spamFilter.admit(event)) return;
    const { object, type, reason, message } = event;
    const { kind, namespace, name, fieldPath = '' } = object;
    this.#logger.info(
      { object: namespace === '' ? name : `${namespace}/${name}`, fieldPath, kind, apiVersion: 'v1', type, reason, eventMessage: message },
      'Event occurred',
    );
  }
}
