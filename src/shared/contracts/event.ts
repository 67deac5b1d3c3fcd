/** An event that a thread records about a Kubernetes object. Main's event recorder (main/events) writes it to the API server. */
import type { ObjectReference } from '../kubernetes/api.ts';

export interface RecordedEvent {
  readonly object: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Wall-clock ms at which the event happened. Absent: the time of recording. */
  readonly atMs?: number;
}
