/** What `--node-ip` says, and whether it can be true of this host. Pure. Upstream: component-helpers/node/util/ips.go, validateNodeIP. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { NetworkInterfaces } from './host-ips.ts';
import { isLinkLocalUnicast, isLoopback, isMulticast, isUnspecified, parseIP, type IPAddress } from './ip-address.ts';

export interface NodeIPs {
  /** None, one, or one of each family, primary first. An unspecified address only chooses a family. */
  readonly ips: readonly IPAddress[];
  /** What is no address: told, and otherwise left out. */
  readonly invalid: readonly string[];
}

/** Throws an Error with upstream's sentence when there are too many, or of the wrong families. */
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

/** Why this can't be the node's address; undefined: it can. */
export function nodeIPProblem(ip: IPAddress, interfaces: NetworkInterfaces): string | undefined {
  if (isLoopback(ip)) return "nodeIP can't be loopback address";
  if (isMulticast(ip)) return "nodeIP can't be a multicast address";
  if (isLinkLocalUnicast(ip)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  const isHere = Object.values(interfaces).some((infos) => infos?.some(({ address }) => parseIP(address)?.text === ip.text));
  return isHere ? undefined : `node IP: ${goQuote(ip.text)} not found in the host's network interfaces`;
}
