/** The addresses of a sandbox, as the runtime tells them (upstream kuberuntime_sandbox.go determinePodSandboxIPs). */
import { isIP } from 'node:net';
import type { PodSandboxStatus } from './generated/cri-v1.ts';

/** Primary first. None of them where one is no IP: upstream trusts such a runtime with none. */
export function sandboxIPs({ network }: Pick<PodSandboxStatus, 'network'>): string[] {
  if (!network) return [];
  const ips = [network.ip, ...network.additionalIps.map(({ ip }) => ip)].filter((ip, index) => index > 0 || ip !== '');
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}
