/** podIP(s) and hostIP(s): one address of each family, the node's own family first (upstream sortPodIPs, generateAPIPodStatus). */
import { isIPv4, isIPv6 } from 'node:net';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';

export function podAddresses(
  pod: Pod,
  status: RuntimePodStatus | null,
  hostIPs: readonly string[],
): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const families = hostIPs[0] !== undefined && isIPv6(hostIPs[0]) ? [isIPv6, isIPv4] : [isIPv4, isIPv6];
  const runtimeIPs = status?.podIPs ?? [];
  const podIPs = families.flatMap((ofFamily) => runtimeIPs.find(ofFamily) ?? []);
  if (pod.spec.hostNetwork) {
    if (podIPs.length === 0) podIPs.push(...hostIPs.slice(0, 1));
    const second = hostIPs[1];
    if (second !== undefined && podIPs.length === 1 && isIPv4(second) !== isIPv4(podIPs[0]!)) podIPs.push(second);
  }
  return {
    ...(hostIPs[0] === undefined ? {} : { hostIP: hostIPs[0], hostIPs: hostIPs.slice(0, 2).map((ip) => ({ ip })) }),
    ...(podIPs[0] === undefined ? {} : { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}
