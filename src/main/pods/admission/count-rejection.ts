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
  admissionRejections.inc({ reason: countedReasons.has(reason) ? reason : 'Other' });
}
