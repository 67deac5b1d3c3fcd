/** Which sysctls a pod may set. */
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** The message of a `SysctlForbidden` admission failure, or null. */
export function checkSysctls(_pod: Pod, _allowedUnsafeSysctls: readonly string[], _kernelVersion: string): string | null {
  throw new Error('under construction');
}
