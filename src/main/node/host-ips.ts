/** The node's own addresses: what pods on the host's network get as their IPs, and `status.hostIPs`. Pure. */
import type { NetworkInterfaceInfo } from 'node:os';

export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/**
 * `--node-ip` where it is set; else the address of the interface that the default route leaves by, IPv4 before IPv6, as upstream
 * (ResolveBindAddress, ChooseHostInterface); else of any interface that is not loopback. Empty: the host has no address at all.
 * @param routes /proc/net/route
 */
export function hostIPs(nodeIP: string, interfaces: Interfaces, routes: string): string[] {
  const told = nodeIP.split(',').map((ip) => ip.trim());
  // An unspecified address only chooses the family.
  const given = told.filter((ip) => ip !== '' && ip !== '0.0.0.0' && ip !== '::');
  if (given.length > 0) return given;
  const families = told.includes('::') ? (['IPv6', 'IPv4'] as const) : (['IPv4', 'IPv6'] as const);
  const first = defaultRouteInterface(routes);
  const names = [...(first === null ? [] : [first]), ...Object.keys(interfaces)];
  for (const family of families) {
    for (const name of names) {
      const address = interfaces[name]?.find((info) => info.family === family && !info.internal && isGlobalUnicast(info.address));
      if (address) return [address.address];
    }
  }
  return [];
}

/** The interface of the default route with the lowest metric. */
function defaultRouteInterface(routes: string): string | null {
  let best: { name: string; metric: number } | null = null;
  for (const line of routes.split('\n').slice(1)) {
    const [name = '', destination, , flags = '0', , , metric = '0', mask] = line.trim().split(/\s+/);
    const isUp = (Number.parseInt(flags, 16) & 1) === 1;
    if (destination !== '00000000' || mask !== '00000000' || !isUp) continue;
    if (best === null || Number(metric) < best.metric) best = { name, metric: Number(metric) };
  }
  return best?.name ?? null;
}

function isGlobalUnicast(address: string): boolean {
  return !/^(169\.254\.|127\.|fe80:|::1$|22[4-9]\.|23\d\.|ff)/i.test(address);
}
