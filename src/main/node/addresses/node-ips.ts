/** Parses `--node-ip` and checks it against the host. Pure. Upstream: component-helpers/node/util/ips.go, validateNodeIP. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { HostInterface } from './host-interfaces.ts';
import { isLinkLocalUnicast, isLoopback, isMulticast, isUnspecified, parseIP, type IPAddress } from './ip-address.ts';

export interface NodeIPs {
  /** At most one per family, primary first. An unspecified address only selects the family. */
  readonly ips: readonly IPAddress[];
  /** The parts that are not addresses. The caller logs and ignores them. */
  readonly invalid: readonly string[];
}

/** Throws an Error with upstream's message for too many addresses or an invalid combination. */
export function parseNodeIPs(nodeIP: string): NodeIPs {
  const parts = nodeIP === '' ? [] : nodeIP.split(',').map((part) => part.trim());
  const parsed = parts.map((part) => ({ part, ip: parseIP(part) }));
  const ips = parsed.flatMap(({ ip }) => (ip ? [ip] : []));
  const [first, second] = ips;
  if (ips.length > 2 || (second && first?.family === second.family)) {
    throw new Error(`bad --node-ip ${goQuote(nodeIP)}: must contain either a single IP or a dual-stack pair of IPs`);
  }
  if (second && ips.some(isUnspecified)) {
    throw new Error(`bad --node-ip ${goQuote(nodeIP)}: dual-stack node IP cannot include '0.0.0.0' or '::'`);
  }
  return { ips, invalid: parsed.flatMap(({ part, ip }) => (ip ? [] : [part])) };
}

/** Returns the reason why this can't be the node's address, or undefined. */
export function nodeIPProblem(ip: IPAddress, interfaces: readonly HostInterface[]): string | undefined {
  if (isLoopback(ip)) return "nodeIP can't be loopback address";
  if (isMulticast(ip)) return "nodeIP can't be a multicast address";
  if (isLinkLocalUnicast(ip)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  const isOnInterface = interfaces.some(({ addresses }) => addresses.some(({ text }) => text === ip.text));
  return isOnInterface ? undefined : `node IP: ${goQuote(ip.text)} not found in the host's network interfaces`;
}
