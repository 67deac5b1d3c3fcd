/** Finds a name in the text of hosts(5), an IPv4 address first. */
import { isIP, isIPv4 } from 'node:net';

export function parseHosts(text: string, name: string): string | undefined {
  const wanted = name.toLowerCase();
  const addresses = text
    .split('\n')
    .map((line) => line.split('#', 1)[0]!.trim().split(/\s+/))
    .filter(([address = '', ...names]) => isIP(address) !== 0 && names.some((alias) => alias.toLowerCase() === wanted))
    .map(([address]) => address!);
  return addresses.find(isIPv4) ?? addresses[0];
}
