/** Schema of object metadata and label selectors. Excludes managedFields, which only the API server uses. */
import { always, bool, int64, list, map, pointer, struct, text, time } from './types.ts';

const ownerReference = struct({
  apiVersion: always(text),
  kind: always(text),
  name: always(text),
  uid: always(text),
  controller: pointer(bool),
  blockOwnerDeletion: pointer(bool),
});
export const objectMeta = struct({
  name: text,
  generateName: text,
  namespace: text,
  selfLink: text,
  uid: text,
  resourceVersion: text,
  generation: int64,
  creationTimestamp: pointer(time),
  deletionTimestamp: pointer(time),
  deletionGracePeriodSeconds: pointer(int64),
  labels: map(text),
  annotations: map(text),
  ownerReferences: list(ownerReference),
  finalizers: list(text),
});
const labelSelectorRequirement = struct({
  key: always(text),
  operator: always(text),
  values: list(text),
});
export const labelSelector = struct({
  matchLabels: map(text),
  matchExpressions: list(labelSelectorRequirement),
});
