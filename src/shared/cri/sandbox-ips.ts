/** Reads the IP addresses of a sandbox from its CRI status (upstream kuberuntime_sandbox.go determinePodSandboxIPs). */
import { isIP } from 'node:net';
import type { PodSandboxStatus } from './generated/cri-v1.ts';

/** Returns the primary address first. Returns no addresses when one of them is invalid, as upstream. */
export function sandboxIPs({ network }: Pick<PodSandboxStatus, 'network'>): string[] {
  if (!network) return [];
  const ips = [network.ip, ...network.additionalIps.map(({ ip }) => ip)].filter((ip, index) => index > 0 || ip !== '');
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}
