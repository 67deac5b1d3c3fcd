/** Decides whether a pod's host ports are free among the pods that may hold some. Pure. Upstream: the scheduler's NodePorts plugin. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';

interface HostPort {
  readonly ip: string;
  /** `TCP/80` */
  readonly port: string;
}

const everyAddress = '0.0.0.0';

export function hasFreeHostPorts(pod: Pod, others: readonly Pod[]): boolean {
  const requested = hostPorts(pod);
  if (requested.length === 0) return true;
  const usedPorts = others.flatMap(hostPorts);
  return requested.every(({ ip, port }) =>
    usedPorts.every((other) => other.port !== port || (other.ip !== ip && other.ip !== everyAddress && ip !== everyAddress)),
  );
}

/** The host ports of the pod's containers and sidecars. */
function hostPorts({ spec }: Pod): HostPort[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []).filter(isRestartableInitContainer)];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ ip: hostIP || everyAddress, port: `${protocol || 'TCP'}/${hostPort}` }] : [],
    ),
  );
}
