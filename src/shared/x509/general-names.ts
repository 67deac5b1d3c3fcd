/** Encodes names of a subjectAltName extension (RFC 5280 GeneralName). */
import { isIPv4 } from 'node:net';
import * as der from './der.ts';

/** GeneralName [2], dNSName. */
export function dnsName(name: string): der.Der {
  return der.implicit(2, Buffer.from(name, 'ascii'));
}

/** GeneralName [7], iPAddress: 4 or 16 bytes. */
export function ipAddress(address: string): der.Der {
  return der.implicit(7, addressBytes(address));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // URL normalizes IPv6 addresses to hex groups with at most one gap.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const groupList = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return Buffer.from(groupList.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
