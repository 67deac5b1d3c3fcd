/** The interface through which all parts of the kubelet record events. Upstream: record.EventRecorder in client-go. */
import type { RecordedEvent } from '../../shared/contracts/event.ts';

export interface EventSink {
  record(event: RecordedEvent): void;
}
