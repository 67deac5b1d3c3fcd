/** Rejects pods with unsafe sysctls that the configuration does not allow (upstream: pkg/kubelet/sysctl). */
import { checkSysctls } from '../../../shared/kubernetes/sysctls.ts';
import type { AdmitHandler } from './admit-handler.ts';

/** @param kernelVersion the result of `os.release()`, which decides which sysctls are namespaced */
export function sysctlAdmission(allowedUnsafeSysctls: readonly string[], kernelVersion: string): AdmitHandler {
  return (pod) => {
    const message = checkSysctls(pod, allowedUnsafeSysctls, kernelVersion);
    return message === null ? null : { rejection: { reason: 'SysctlForbidden', message } };
  };
}
