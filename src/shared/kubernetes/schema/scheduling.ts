/**
 * Schema of affinity, tolerations and topology spread, from the v1 API: field names, types and optionality. Only the scheduler
 * uses these fields, but a static pod may contain them.
 */
import { always, int32, int64, list, pointer, struct, text } from './types.ts';
import { labelSelector } from './metadata.ts';

const nodeSelectorRequirement = struct({
  key: always(text),
  operator: always(text),
  values: list(text),
});
const nodeSelectorTerm = struct({
  matchExpressions: list(nodeSelectorRequirement),
  matchFields: list(nodeSelectorRequirement),
});
export const nodeSelector = struct({
  nodeSelectorTerms: always(list(nodeSelectorTerm)),
});
const preferredSchedulingTerm = struct({
  weight: always(int32),
  preference: always(nodeSelectorTerm),
});
const nodeAffinity = struct({
  requiredDuringSchedulingIgnoredDuringExecution: pointer(nodeSelector),
  preferredDuringSchedulingIgnoredDuringExecution: list(preferredSchedulingTerm),
});
const podAffinityTerm = struct({
  labelSelector: pointer(labelSelector),
  namespaces: list(text),
  topologyKey: always(text),
  namespaceSelector: pointer(labelSelector),
  matchLabelKeys: list(text),
  mismatchLabelKeys: list(text),
});
const weightedPodAffinityTerm = struct({
  weight: always(int32),
  podAffinityTerm: always(podAffinityTerm),
});
const podAffinity = struct({
  requiredDuringSchedulingIgnoredDuringExecution: list(podAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(weightedPodAffinityTerm),
});
const podAntiAffinity = struct({
  requiredDuringSchedulingIgnoredDuringExecution: list(podAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(weightedPodAffinityTerm),
});
export const affinity = struct({
  nodeAffinity: pointer(nodeAffinity),
  podAffinity: pointer(podAffinity),
  podAntiAffinity: pointer(podAntiAffinity),
});
export const toleration = struct({
  key: text,
  operator: text,
  value: text,
  effect: text,
  tolerationSeconds: pointer(int64),
});
export const topologySpreadConstraint = struct({
  maxSkew: always(int32),
  topologyKey: always(text),
  whenUnsatisfiable: always(text),
  labelSelector: pointer(labelSelector),
  minDomains: pointer(int32),
  nodeAffinityPolicy: pointer(text),
  nodeTaintsPolicy: pointer(text),
  matchLabelKeys: list(text),
});
