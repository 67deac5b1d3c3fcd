/** Makes the port mappings for the runtime's network plugins (upstream kubecontainer.MakePortMappings). */
import { isIPv6 } from 'node:net';
import { type PortMapping, Protocol } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, Pod } from '../../../../shared/kubernetes/api.ts';

/** Maps the ports of regular containers. Includes ports without a host port, which the runtime ignores. */
export function portMappings(pod: Pod): PortMapping[] {
  return pod.spec.containers.flatMap((container) => containerPortMappings(container));
}

function containerPortMappings({ ports = [] }: Container): PortMapping[] {
  const mappings = new Map<string, PortMapping>();
  for (const { name, protocol = 'TCP', hostIP = '', containerPort, hostPort = 0 } of ports) {
    const family = hostIP === '' ? 'any' : isIPv6(hostIP) ? 'v6' : 'v4';
    const key = name || `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    // The first port of a name wins.
    if (mappings.has(key)) continue;
    mappings.set(key, { protocol: toProtocol(protocol), containerPort, hostPort, hostIp: hostIP });
  }
  return [...mappings.values()];
}

function toProtocol(protocol: string): Protocol {
  if (protocol === 'UDP') return Protocol.UDP;
  return protocol === 'SCTP' ? Protocol.SCTP : Protocol.TCP;
}
