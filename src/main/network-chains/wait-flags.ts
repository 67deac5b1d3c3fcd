/** The flags with which a version of iptables waits for the lock of the host. Pure. Upstream: getIPTablesWaitFlag in pkg/util/iptables. */

/** Since 1.4.20 a command waits with `-w`, since 1.4.22 it takes the seconds. */
const waitsSince = [1, 4, 20];
const waitsSecondsSince = [1, 4, 22];
const waitSeconds = '5';

/** @param output what `iptables --version` prints. Without a version in it no flag is known to work. */
export function waitFlags(output: string): readonly string[] {
  const version = /v(\d+(?:\.\d+)+)/.exec(output)?.[1]?.split('.').map(Number);
  if (!version || isBefore(version, waitsSince)) return [];
  return isBefore(version, waitsSecondsSince) ? ['-w'] : ['-w', waitSeconds];
}

function isBefore(version: readonly number[], other: readonly number[]): boolean {
  const index = other.findIndex((part, at) => (version[at] ?? 0) !== part);
  return index !== -1 && (version[index] ?? 0) < (other[index] ?? 0);
}
