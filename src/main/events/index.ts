/**
 * Events: the interface by which the kubelet's parts record them (EventSink), the log, and the recorder, which correlates, rate-limits and
 * writes events to the API server as client-go's recorder does. EventsAfterStatus orders a pod's warnings behind its status.
 */
export { EventLog } from './event-log.ts';
export { EventRecorder, type EventRecorderOptions } from './event-recorder.ts';
export type { EventSink } from './event-sink.ts';
export { EventsAfterStatus, type EventsAfterStatusOptions } from './events-after-status.ts';
export { SpamFilter } from './spam-filter.ts';
export { podReference } from './pod-reference.ts';
