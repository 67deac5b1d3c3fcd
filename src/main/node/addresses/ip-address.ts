/** Parses and classifies IP addresses like Go's net.IP. Pure. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';

export interface IPAddress {
  /** Canonical: no leading zeros, lower case, the longest run of zeros shortened to `::`. */
  readonly text: string;
  readonly family: 'IPv4' | 'IPv6';
}

/** Returns null if the text is not an address. Like upstream's ParseIPSloppy, reads IPv4 octets with leading zeros as decimal. An IPv4-mapped address is IPv4. */
export function parseIP(text: string): IPAddress | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const withoutLeadingZeros = /^[0-9.]+$/.test(trimmed) ? trimmed.replaceAll(/\b0+(?=\d)/g, '') : trimmed;
  if (isIPv4(withoutLeadingZeros)) return { text: withoutLeadingZeros, family: 'IPv4' };
  // Go rejects an address with a zone (`fe80::1%eth0`).
  if (!isIPv6(withoutLeadingZeros) || withoutLeadingZeros.includes('%')) return null;
  const canonical = new SocketAddress({ address: withoutLeadingZeros, family: 'ipv6' }).address;
  const mapped = /^::ffff:([0-9.]+)$/.exec(canonical)?.[1];
  return mapped === undefined ? { text: canonical, family: 'IPv6' } : { text: mapped, family: 'IPv4' };
}

/** True for `0.0.0.0` and `::`. */
export function isUnspecified({ text }: IPAddress): boolean {
  return text === '0.0.0.0' || text === '::';
}

export function isLoopback({ text }: IPAddress): boolean {
  return text.startsWith('127.') || text === '::1';
}

export function isMulticast({ text, family }: IPAddress): boolean {
  return family === 'IPv4' ? /^(22[4-9]|23\d)\./.test(text) : text.startsWith('ff');
}

export function isLinkLocalUnicast({ text }: IPAddress): boolean {
  return text.startsWith('169.254.') || /^fe[89ab]/.test(text);
}

/** True for addresses that are not unspecified, broadcast, loopback, multicast or link-local. Private addresses are global unicast. */
export function isGlobalUnicast(ip: IPAddress): boolean {
  return !isUnspecified(ip) && ip.text !== '255.255.255.255' && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}
