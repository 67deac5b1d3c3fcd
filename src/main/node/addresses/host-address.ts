/** Finds the host's own address by its default routes. Pure. Upstream: ResolveBindAddress in apimachinery pkg/util/net/interface.go. */
import type { HostInterface } from './host-interfaces.ts';
import { isGlobalUnicast, type IPAddress } from './ip-address.ts';

type Family = IPAddress['family'];

/** The content of /proc/net/route and /proc/net/ipv6_route. Null: the host has no such file. */
export interface RouteFiles {
  readonly ipv4: string | null;
  readonly ipv6: string | null;
}

/** The address, or the reason for its absence in upstream's words. */
export type HostAddress = { readonly address: string } | { readonly problem: string };

/**
 * Returns a global unicast address of the interface of the first default route that leads to one; the routes of the preferred family come first.
 * An interface with only link-local addresses (such as one for BGP) counts as having those of the loopback interface. A host with route files
 * but without a default route has no address. On a host without route files the address of any interface counts.
 */
export function hostAddress(preferred: Family, interfaces: readonly HostInterface[], routes: RouteFiles): HostAddress {
  const families: readonly Family[] = preferred === 'IPv6' ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];
  if (routes.ipv4 === null) return addressOfAnyInterface(families, interfaces);
  const defaults = { IPv4: ipv4DefaultInterfaces(routes.ipv4), IPv6: ipv6DefaultInterfaces(routes.ipv6 ?? '') };
  if (defaults.IPv4.length + defaults.IPv6.length === 0) {
    return { problem: 'no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"' };
  }
  for (const family of families) {
    for (const name of defaults[family]) {
      const candidates = [...interfaces.filter((each) => each.name === name), ...interfaces.filter(({ isLoopback }) => isLoopback)];
      const address = candidates.map((each) => globalAddress(each, family)).find((found) => found !== undefined);
      if (address !== undefined) return { address };
    }
  }
  return { problem: 'unable to select an IP from default routes.' };
}

function addressOfAnyInterface(families: readonly Family[], interfaces: readonly HostInterface[]): HostAddress {
  if (interfaces.length === 0) return { problem: 'no interfaces found on host.' };
  for (const family of families) {
    const others = interfaces.filter(({ isLoopback, isPointToPoint }) => !isLoopback && !isPointToPoint);
    const address = others.map((each) => globalAddress(each, family)).find((found) => found !== undefined);
    if (address !== undefined) return { address };
  }
  return { problem: 'no acceptable interface with global unicast address found on host' };
}

function globalAddress({ isUp, addresses }: HostInterface, family: Family): string | undefined {
  return isUp ? addresses.find((ip) => ip.family === family && isGlobalUnicast(ip))?.text : undefined;
}

/** The kernel lists routes of one destination by their metric. As upstream, the mask is not considered. */
function ipv4DefaultInterfaces(routes: string): string[] {
  return routes.split('\n').flatMap((line) => {
    const [name = '', destination] = line.trim().split(/\s+/);
    return destination === '00000000' ? [name] : [];
  });
}

/** The columns of ipv6_route are, in hex: destination, length, source, length, gateway, metric, references, use count, flags, interface. */
function ipv6DefaultInterfaces(routes: string): string[] {
  const zero = '0'.repeat(32);
  return routes.split('\n').flatMap((line) => {
    const [destination, , , , gateway, , , , , name = ''] = line.trim().split(/\s+/);
    // A default route without a gateway is the unreachable route of the loopback interface.
    return destination === zero && gateway !== zero ? [name] : [];
  });
}
