/** Finds the host's own address for a node without `--node-ip`. Pure. Upstream: apimachinery pkg/util/net/interface.go. */
import type { NetworkInterfaceInfo } from 'node:os';
import { isGlobalUnicast, isUnspecified, parseIP } from './ip-address.ts';

export type NetworkInterfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** The content of /proc/net/route and /proc/net/ipv6_route. Empty if the host lacks the file. */
export interface RouteFiles {
  readonly ipv4: string;
  readonly ipv6: string;
}

/**
 * Returns the addresses of `--node-ip`, else the address that `hostAddress` finds. Empty: the host has no address.
 * @param routes the content of /proc/net/route, or of both files
 */
export function hostIPs(nodeIP: string, interfaces: NetworkInterfaces, routes: string | RouteFiles): string[] {
  const parsed = nodeIP.split(',').flatMap((text) => parseIP(text) ?? []);
  // An unspecified address only chooses the family.
  const given = parsed.filter((ip) => !isUnspecified(ip));
  if (given.length > 0) return given.map(({ text }) => text);
  const files = typeof routes === 'string' ? { ipv4: routes, ipv6: '' } : routes;
  return hostAddress(parsed[0]?.family === 'IPv6' ? 'IPv6' : 'IPv4', interfaces, files) ?? [];
}

/**
 * Returns the address of the default route's interface, preferably of the preferred family; else a global address of the loopback interface
 * (where hosts with BGP over link-local addresses have theirs); else one of any other interface.
 */
export function hostAddress(preferred: 'IPv4' | 'IPv6', interfaces: NetworkInterfaces, routes: RouteFiles): [string] | null {
  const families = preferred === 'IPv6' ? (['IPv6', 'IPv4'] as const) : (['IPv4', 'IPv6'] as const);
  const defaultInterfaces = { IPv4: defaultIPv4Interface(routes.ipv4), IPv6: defaultIPv6Interface(routes.ipv6) };
  const first = defaultInterfaces.IPv4 ?? defaultInterfaces.IPv6;
  for (const family of families) {
    const interfaceName = defaultInterfaces[family] ?? first;
    const address =
      interfaceName === null ? undefined : (globalAddress(interfaces[interfaceName], family) ?? loopbackAddress(interfaces, family));
    if (address !== undefined) return [address];
  }
  for (const family of families) {
    for (const name of Object.keys(interfaces)) {
      const address = interfaces[name]?.some(({ internal }) => internal) ? undefined : globalAddress(interfaces[name], family);
      if (address !== undefined) return [address];
    }
  }
  return null;
}

function globalAddress(infos: readonly NetworkInterfaceInfo[] | undefined, family: 'IPv4' | 'IPv6'): string | undefined {
  // Filters by family first: a host has one interface with a link-local address per pod.
  const ofFamily = infos?.filter((info) => info.family === family).map(({ address }) => parseIP(address));
  return ofFamily?.find((ip) => ip !== null && isGlobalUnicast(ip))?.text;
}

function loopbackAddress(interfaces: NetworkInterfaces, family: 'IPv4' | 'IPv6'): string | undefined {
  const loopback = Object.values(interfaces).filter((infos) => infos?.some(({ internal }) => internal));
  return loopback.map((infos) => globalAddress(infos, family)).find((address) => address !== undefined);
}

/** Returns the interface of the default route with the lowest metric. */
function defaultIPv4Interface(routes: string): string | null {
  const candidates = routes
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [name = '', destination, , flags = '0', , , metric = '0', mask] = line.trim().split(/\s+/);
      const isUp = (Number.parseInt(flags, 16) & 1) === 1;
      return destination === '00000000' && mask === '00000000' && isUp ? [{ name, metric: Number(metric) }] : [];
    });
  return lowestMetric(candidates);
}

/** The columns of ipv6_route are, in hex: destination, length, source, length, gateway, metric, references, use count, flags, interface. */
function defaultIPv6Interface(routes: string): string | null {
  const zero = '0'.repeat(32);
  const candidates = routes.split('\n').flatMap((line) => {
    const [destination, length, , , gateway, metric = '0', , , , name = ''] = line.trim().split(/\s+/);
    // A default route without a gateway is the unreachable route of the loopback interface.
    return destination === zero && length === '00' && gateway !== zero ? [{ name, metric: Number.parseInt(metric, 16) }] : [];
  });
  return lowestMetric(candidates);
}

function lowestMetric(routes: readonly { readonly name: string; readonly metric: number }[]): string | null {
  return routes.length === 0 ? null : routes.reduce((best, route) => (route.metric < best.metric ? route : best)).name;
}
