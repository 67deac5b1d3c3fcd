/** The node's addresses and what an external cloud provider is told of them. Pure. Upstream: NodeAddress in pkg/kubelet/nodestatus/setters.go. */
import { hostAddress, type NetworkInterfaces, type RouteFiles } from './host-ips.ts';
import { isUnspecified, parseIP, type IPAddress } from './ip-address.ts';
import { nodeIPProblem } from './node-ips.ts';
import type { Node, NodeAddress } from '../node-object.ts';

/** What is known of the host's network when the status is made. */
export interface HostNetwork {
  readonly interfaces: NetworkInterfaces;
  readonly routes: RouteFiles;
  /** What the node's name resolves to. */
  readonly resolved: readonly string[];
}

export interface AddressInputs {
  readonly nodeName: string;
  readonly hostname: string;
  /** As `--node-ip` says. */
  readonly nodeIPs: readonly IPAddress[];
  readonly externalCloudProvider: boolean;
  readonly network: HostNetwork;
}

export interface Addresses {
  /** Absent: those that the Node has stay. */
  readonly addresses?: readonly NodeAddress[];
  /** The value of the annotation `alpha.kubernetes.io/provided-node-ip`; null: it is removed; absent: it stays. */
  readonly providedNodeIP?: string | null;
  /** Why there are none. */
  readonly problem?: string;
}

/**
 * By `--node-ip`, else by a host name that is an address, else by DNS, else by the default route; IPv4 is preferred unless `--node-ip` is
 * `::`. Addresses that an external cloud provider has set go before all.
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
    // The cloud provider will know; until then nothing is guessed.
    if (nodeIPs.length === 0) return { providedNodeIP, addresses: [hostnameAddress] };
  }
  const internal = texts.length > 0 ? texts : detectAddress(inputs);
  if (internal === null) return { providedNodeIP, problem: `can't get ip address of node ${inputs.nodeName}` };
  return { providedNodeIP, addresses: [...internal.map((address): NodeAddress => ({ type: 'InternalIP', address })), hostnameAddress] };
}

function detectAddress({ hostname, nodeIPs, network }: AddressInputs): [string] | null {
  const named = parseIP(hostname);
  if (named) return [named.text];
  const preferred = nodeIPs[0]?.family ?? 'IPv4';
  const resolved = network.resolved
    .flatMap((text) => parseIP(text) ?? [])
    .filter((ip) => nodeIPProblem(ip, network.interfaces) === undefined);
  const chosen = resolved.find(({ family }) => family === preferred) ?? resolved[0];
  return chosen ? [chosen.text] : hostAddress(preferred, network.interfaces, network.routes);
}

/**
 * The addresses that pods on the host's network have, primary first, at most one of each family: internal before external. Empty where
 * the Node has none. Upstream: GetNodeHostIPs in pkg/util/node.
 */
export function nodeHostIPs(addresses: readonly NodeAddress[] = []): string[] {
  const all = ['InternalIP', 'ExternalIP'].flatMap((wanted) =>
    addresses.flatMap(({ type, address }) => (type === wanted ? (parseIP(address) ?? []) : [])),
  );
  const [first] = all;
  const other = all.find(({ family }) => family !== first?.family);
  return [...(first ? [first.text] : []), ...(other ? [other.text] : [])];
}
