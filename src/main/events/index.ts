/** The kubelet's events on their way to the API server: combined, counted, cut off and written, as client-go's recorder does it. */
export { EventRecorder, type EventRecorderOptions } from './event-recorder.ts';
