/** The host's network interfaces with their addresses, including those without carrier. Like Go's net.Interfaces and Interface.Addrs. */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { dumpNetlink, isLittleEndian, parseAttributes, Rtnetlink, toView, type NetlinkMessage } from '../../../shared/linux/netlink.ts';
import { parseIP, type IPAddress } from './ip-address.ts';

export interface HostInterface {
  readonly name: string;
  /** Administratively up. An interface without carrier is up too. */
  readonly isUp: boolean;
  readonly isLoopback: boolean;
  readonly isPointToPoint: boolean;
  /** In the kernel's order, IPv4 first. */
  readonly addresses: readonly IPAddress[];
}

/** Never rejects: without netlink, returns what Node.js finds. */
export async function readHostInterfaces(): Promise<HostInterface[]> {
  try {
    const links = await dumpNetlink(Rtnetlink.getLink);
    return toHostInterfaces(links, await dumpNetlink(Rtnetlink.getAddress));
  } catch {
    return fromOSInterfaces(networkInterfaces());
  }
}

/** Flags of struct ifinfomsg, from linux/if.h. */
const InterfaceFlag = { up: 1, loopback: 8, pointToPoint: 16 } as const;
/** Types of attributes, from linux/if_link.h and linux/if_addr.h. */
const IFLA_IFNAME = 3;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
/** The size of struct ifinfomsg, before the attributes of a link. The index of the interface is at 4, the flags are at 8. */
const linkBytes = 16;
/** The size of struct ifaddrmsg, before the attributes of an address. The index of the interface is at 4. */
const addressBytes = 8;

/** Pure. The arguments are the dumps of all links and of all addresses. */
export function toHostInterfaces(links: readonly NetlinkMessage[], addresses: readonly NetlinkMessage[]): HostInterface[] {
  const byIndex = new Map<number, IPAddress[]>();
  for (const { type, payload } of addresses) {
    if (type !== Rtnetlink.newAddress || payload.length < addressBytes) continue;
    const attributes = parseAttributes(payload, addressBytes);
    // If there is IFA_LOCAL, it is the interface's own address, and IFA_ADDRESS may be the peer's (on a point-to-point link).
    const ip = toIPAddress(attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS));
    if (ip === null) continue;
    const index = toView(payload).getUint32(4, isLittleEndian);
    const known = byIndex.get(index);
    if (known) known.push(ip);
    else byIndex.set(index, [ip]);
  }
  return links.flatMap(({ type, payload }) => {
    if (type !== Rtnetlink.newLink || payload.length < linkBytes) return [];
    const view = toView(payload);
    const flags = view.getUint32(8, isLittleEndian);
    const name = parseAttributes(payload, linkBytes).get(IFLA_IFNAME)?.toString('latin1').replace(/\0.*$/s, '');
    if (name === undefined) return [];
    return [
      {
        name,
        isUp: (flags & InterfaceFlag.up) !== 0,
        isLoopback: (flags & InterfaceFlag.loopback) !== 0,
        isPointToPoint: (flags & InterfaceFlag.pointToPoint) !== 0,
        addresses: byIndex.get(view.getInt32(4, isLittleEndian)) ?? [],
      },
    ];
  });
}

function toIPAddress(bytes: Buffer | undefined): IPAddress | null {
  if (bytes?.length === 4) return parseIP(bytes.join('.'));
  if (bytes?.length !== 16) return null;
  return parseIP(bytes.toString('hex').replaceAll(/(.{4})(?!$)/g, '$1:'));
}

function fromOSInterfaces(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>): HostInterface[] {
  return Object.entries(interfaces).map(([name, infos = []]) => ({
    name,
    isUp: true,
    isLoopback: infos.some(({ internal }) => internal),
    isPointToPoint: false,
    addresses: infos.flatMap(({ address }) => parseIP(address) ?? []),
  }));
}
