/**
 * Which pods this node refuses, each with a handler of its own; asked in order, the first refusal counts. A pod that is refused is
 * Failed for good: it is shown with the reason, and never started. Upstream: the admit handlers of NewMainKubelet, canAdmitPod.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { checkSysctls } from '../../shared/kubernetes/sysctls.ts';
import { admissionRejections } from '../../shared/metrics/definitions/pods.ts';
import type { FailedPod } from './pod-statuses.ts';

/** Why a pod can't run beside those that are active; null: it can. */
export type AdmitHandler = (pod: Pod, active: readonly Pod[]) => FailedPod | null;

/**
 * Refuses pods with sysctls that could reach beyond their pod, unless the configuration allows them (upstream: pkg/kubelet/sysctl).
 * @param kernelVersion as `os.release()` says it: which sysctls are namespaced depends on it
 */
export function sysctlAdmission(allowedUnsafeSysctls: readonly string[], kernelVersion: string): AdmitHandler {
  return (pod) => {
    const message = checkSysctls(pod, allowedUnsafeSysctls, kernelVersion);
    return message === null ? null : { reason: 'SysctlForbidden', message };
  };
}

/** Reasons that are a label of their own (upstream: admissionRejectionReasons); all others are counted together. */
const countedReasons: ReadonlySet<string> = new Set(['SysctlForbidden']);

export function countRejection(reason: string): void {
  admissionRejections.inc({ reason: countedReasons.has(reason) ? reason : 'Other' });
}
