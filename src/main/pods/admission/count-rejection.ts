/** Counts rejected pods by reason. */
import { admissionRejections } from '../../../shared/metrics/definitions/pods.ts';

/** Reasons with their own label value (upstream: admissionRejectionReasons). All others share one. */
const countedReasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'Evicted',
  'InitContainerRestartPolicyForbidden',
  'InvalidNodeInfo',
  'NodeShutdown',
  'OutOfcpu',
  'OutOfephemeral-storage',
  'OutOfmemory',
  'OutOfpods',
  'PodFeatureUnsupported',
  'PodLevelResourcesNotSupported',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SupplementalGroupsPolicyNotSupported',
  'SysctlForbidden',
  'TopologyAffinityError',
  'UnexpectedAdmissionError',
  'UnexpectedPredicateFailureType',
  'UnknownReason',
  'VolumeAttachmentLimitExceeded',
]);

export function countRejection(reason: string): void {
  admissionRejections.inc({ reason: labelOf(reason) });
}

/** Extended resources have arbitrary names and share one label value, which bounds the number of series. */
function labelOf(reason: string): string {
  if (countedReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}
