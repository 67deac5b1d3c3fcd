/** Container ports as the runtime's network plugins get them (upstream kubecontainer.MakePortMappings). */
import { isIPv6 } from 'node:net';
import { type PortMapping, Protocol } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, Pod } from '../../../shared/kubernetes/api.ts';

/** Of regular containers only; also ports without a host port, which the runtime passes over. */
export function portMappings(pod: Pod): PortMapping[] {
  return pod.spec.containers.flatMap((container) => ofContainer(container));
}

function ofContainer({ ports = [] }: Container): PortMapping[] {
  const mappings = new Map<string, PortMapping>();
  for (const { name, protocol = 'TCP', hostIP = '', containerPort, hostPort = 0 } of ports) {
    const family = hostIP === '' ? 'any' : isIPv6(hostIP) ? 'v6' : 'v4';
    const key = name || `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    // A name that stands twice counts once, the first.
    if (mappings.has(key)) continue;
    mappings.set(key, { protocol: toProtocol(protocol), containerPort, hostPort, hostIp: hostIP });
  }
  return [...mappings.values()];
}

function toProtocol(protocol: string): Protocol {
  if (protocol === 'UDP') return Protocol.UDP;
  return protocol === 'SCTP' ? Protocol.SCTP : Protocol.TCP;
}
