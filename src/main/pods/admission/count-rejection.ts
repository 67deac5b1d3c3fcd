/** Counts the pods that were refused, by reason. */
import { admissionRejections } from '../../../shared/metrics/definitions/pods.ts';

/** Reasons that are a label of their own (upstream: admissionRejectionReasons); all others are counted together. */
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

/** Names of extended resources are anybody's: they are one label. */
function labelOf(reason: string): string {
  if (countedReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}
