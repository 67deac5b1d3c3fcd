/** Computes the node's addresses and the annotation for an external cloud provider. Pure. Upstream: NodeAddress in pkg/kubelet/nodestatus/setters.go. */
import type { NodeAddress } from '../../../shared/kubernetes/api.ts';
import { hostAddress, type HostAddress, type RouteFiles } from './host-address.ts';
import type { HostInterface } from './host-interfaces.ts';
import { isUnspecified, parseIP, type IPAddress } from './ip-address.ts';
import { nodeIPProblem } from './node-ips.ts';
import type { Node } from '../node-object.ts';

/** The state of the host's network, read before each status update. */
export interface HostNetwork {
  readonly interfaces: readonly HostInterface[];
  readonly routes: RouteFiles;
  /** The addresses that the node's name resolves to. */
  readonly resolved: readonly string[];
}

export interface AddressInputs {
  readonly nodeName: string;
  readonly hostname: string;
  /** From `--node-ip`. */
  readonly nodeIPs: readonly IPAddress[];
  readonly externalCloudProvider: boolean;
  readonly network: HostNetwork;
}

export interface Addresses {
  /** Absent: the Node keeps its addresses. */
  readonly addresses?: readonly NodeAddress[];
  /** The value of the annotation `alpha.kubernetes.io/provided-node-ip`. Null removes the annotation, absent keeps it. */
  readonly providedNodeIP?: string | null;
  /** The reason for missing addresses. */
  readonly problem?: string;
}

/**
 * Takes the address from `--node-ip`, else from a host name that is an address, else from DNS, else from the default routes. Prefers IPv4
 * unless `--node-ip` is `::`. Addresses set by an external cloud provider take precedence.
 */
export function computeAddresses(existing: Node['status'], inputs: AddressInputs): Addresses {
  const { hostname, nodeIPs, externalCloudProvider, network } = inputs;
  const specified = nodeIPs.filter((ip) => !isUnspecified(ip));
  for (const [index, ip] of specified.entries()) {
    const problem = nodeIPProblem(ip, network.interfaces);
    if (problem !== undefined) return { problem: `failed to validate ${index === 0 ? 'nodeIP' : 'secondaryNodeIP'}: ${problem}` };
  }
  const texts = specified.map(({ text }) => text);
  const providedNodeIP = externalCloudProvider && texts.length > 0 ? texts.join(',') : null;
  const hostnameAddress: NodeAddress = { type: 'Hostname', address: hostname };
  if (externalCloudProvider) {
    if ((existing?.addresses ?? []).length > 0) return { providedNodeIP };
    // The cloud provider sets the addresses later.
    if (nodeIPs.length === 0) return { providedNodeIP, addresses: [hostnameAddress] };
  }
  const detected = texts.length > 0 ? null : detectAddress(inputs);
  if (detected && 'problem' in detected) {
    return { providedNodeIP, problem: `can't get ip address of node ${inputs.nodeName}. error: ${detected.problem}` };
  }
  const internal = detected ? [detected.address] : texts;
  return { providedNodeIP, addresses: [...internal.map((address): NodeAddress => ({ type: 'InternalIP', address })), hostnameAddress] };
}

/** Returns the addresses of `--node-ip`, else the host's detected one. Pods on the host's network have these while the Node has no addresses. */
export function localHostIPs(inputs: Omit<AddressInputs, 'nodeName' | 'externalCloudProvider'>): string[] {
  const specified = inputs.nodeIPs.filter((ip) => !isUnspecified(ip)).map(({ text }) => text);
  if (specified.length > 0) return specified;
  const detected = detectAddress(inputs);
  return 'address' in detected ? [detected.address] : [];
}

function detectAddress({ hostname, nodeIPs, network }: Omit<AddressInputs, 'nodeName' | 'externalCloudProvider'>): HostAddress {
  const hostnameIP = parseIP(hostname);
  if (hostnameIP) return { address: hostnameIP.text };
  const preferred = nodeIPs[0]?.family ?? 'IPv4';
  const resolved = network.resolved
    .flatMap((text) => parseIP(text) ?? [])
    .filter((ip) => nodeIPProblem(ip, network.interfaces) === undefined);
  const resolvedIP = resolved.find(({ family }) => family === preferred) ?? resolved[0];
  return resolvedIP ? { address: resolvedIP.text } : hostAddress(preferred, network.interfaces, network.routes);
}

/**
 * Returns the addresses of pods on the host's network, primary first, at most one per family, internal before external. Empty if the Node
 * has none. Upstream: GetNodeHostIPs in pkg/util/node.
 */
export function nodeHostIPs(addresses: readonly NodeAddress[] = []): string[] {
  const candidates = ['InternalIP', 'ExternalIP'].flatMap((wanted) =>
    addresses.flatMap(({ type, address }) => (type === wanted ? (parseIP(address) ?? []) : [])),
  );
  const [firstAddress] = candidates;
  const otherFamilyAddress = candidates.find(({ family }) => family !== firstAddress?.family);
  return [...(firstAddress ? [firstAddress.text] : []), ...(otherFamilyAddress ? [otherFamilyAddress.text] : [])];
}
