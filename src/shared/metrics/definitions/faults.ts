/** Unexpected exceptions that the kubelet survives. */
import { counter } from '../define.ts';

export const containedFaults = counter(
  'kubelet_contained_faults_total',
  'Exceptions that cost only the pod, the object or the message that they were thrown for, by handler.',
  ['handler'],
);
export const uncaughtFaults = counter(
  'kubelet_uncaught_faults_total',
  'Exceptions that no handler contained and that the thread goes on after. Each is a defect of the kubelet.',
  ['thread'],
);
export const unreadObjects = counter(
  'kubelet_unread_objects_total',
  'Objects that the API server sent and that were too large to be read, by kind. Each version counts.',
  ['kind'],
);
