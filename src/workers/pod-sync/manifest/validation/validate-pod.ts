/**
 * Validates a pod like the API server on creation (upstream ValidatePodCreate). The pod has its defaults. A static pod also has its name,
 * namespace and node.
 */
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { configMirrorAnnotation } from '../../../../shared/kubernetes/annotations.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { forbidden, invalid, keyPath } from '../../../../shared/kubernetes/field-error.ts';
import { validateMetadata } from './metadata.ts';
import { validatePodSpec } from './pod-spec.ts';
import { validateProfileAnnotations, validateProfilesMatch } from './profiles.ts';

const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost';

/** Returns all errors, each with the path of its field. Empty for a valid pod. Never throws. */
export function validatePod(pod: Pod, gates: ManifestGates): string[] {
  const errors: string[] = [];
  const { metadata, spec } = pod;
  validateMetadata(metadata, 'metadata', errors);
  validatePodAnnotations(pod, gates, 'metadata.annotations', errors);
  validatePodSpec(pod, gates, 'spec', errors);
  if (!spec.serviceAccountName) {
    for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
      for (const [at, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
        const path = `spec.volumes[${index}].projected.sources[${at}].serviceAccountToken`;
        if (serviceAccountToken) errors.push(forbidden(path, 'must not be specified when serviceAccountName is not set'));
      }
    }
  }
  // Ephemeral containers are added to running pods only.
  if (spec.ephemeralContainers) errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  if (spec.nodeName && spec.schedulingGates) {
    errors.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  validateProfilesMatch(pod, 'spec', errors);
  return errors;
}

function validatePodAnnotations(pod: Pod, gates: ManifestGates, path: string, errors: string[]): void {
  const annotations = pod.metadata.annotations ?? {};
  const mirror = annotations[configMirrorAnnotation];
  if (mirror !== undefined && !pod.spec.nodeName) {
    errors.push(invalid(keyPath(path, configMirrorAnnotation), mirror, 'must set spec.nodeName if mirror pod annotation is set'));
  }
  if (mirror !== undefined && pod.spec.resourceClaims) errors.push(forbidden('', 'static pods do not support resource claims'));
  const cost = annotations[deletionCostAnnotation];
  const isCostChecked = gates.PodDeletionCost;
  if (isCostChecked && cost !== undefined && !isInt32(cost))
    errors.push(invalid(keyPath(path, deletionCostAnnotation), cost, 'must be a 32bit integer'));
  validateProfileAnnotations(pod, path, errors);
}

/** A plus sign and leading zeros are not allowed. */
function isInt32(text: string): boolean {
  return /^(?:0|-?[1-9][0-9]{0,9})$/.test(text) && Number(text) === (Number(text) | 0);
}
