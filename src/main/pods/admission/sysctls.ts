/** Refuses pods with sysctls that could reach beyond their pod, unless the configuration allows them (upstream: pkg/kubelet/sysctl). */
import { checkSysctls } from '../../../shared/kubernetes/sysctls.ts';
import type { AdmitHandler } from './admit-handler.ts';

/** @param kernelVersion as `os.release()` says it: which sysctls are namespaced depends on it */
export function sysctlAdmission(allowedUnsafeSysctls: readonly string[], kernelVersion: string): AdmitHandler {
  return (pod) => {
    const message = checkSysctls(pod, allowedUnsafeSysctls, kernelVersion);
    return message === null ? null : { rejection: { reason: 'SysctlForbidden', message } };
  };
}
