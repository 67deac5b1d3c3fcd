/** Decides whether a node matches a pod's nodeSelector and required node affinity. Pure. Upstream: apimachinery pkg/labels. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { matchesNodeSelector } from '../../../shared/kubernetes/node-selector.ts';
import type { AdmissionNode } from './admit-handler.ts';

export function matchesNode({ spec: { nodeSelector, affinity } }: Pod, { metadata }: AdmissionNode): boolean {
  const labels = metadata.labels ?? {};
  const isSelected = Object.entries(nodeSelector ?? {}).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
  if (!isSelected) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, labels, { 'metadata.name': metadata.name });
}
