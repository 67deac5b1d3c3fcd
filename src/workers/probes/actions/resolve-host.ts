/**
 * Resolves host names of probes: the node's /etc/hosts, then DNS, with the search list for a name without a dot. getaddrinfo would occupy one of the four
 * threads of libuv's pool for as long as a name server does not answer, and main's file accesses would wait behind the probes of one pod.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { parseResolvConf, readResolvConf } from '../../../shared/linux/resolv-conf.ts';
import { parseHosts } from './parse-hosts.ts';

/** Bounds the queries under way; a probe's timeout bounds its own wait. */
const resolver = new Resolver({ timeout: 2000, tries: 2 });
const pending = new Map<string, Promise<string>>();

/** Resolves with an address, IPv4 first. Concurrent requests for a name share one. Rejects with Go's text: `no such host`. */
export function resolveHost(name: string): Promise<string> {
  let found = pending.get(name);
  if (!found) {
    found = lookup(name).finally(() => pending.delete(name));
    pending.set(name, found);
  }
  return found;
}

async function lookup(name: string): Promise<string> {
  const local = await readFile('/etc/hosts', 'utf8').then(
    (text) => parseHosts(text, name),
    () => undefined,
  );
  if (local !== undefined) return local;
  let failure = 'no such host';
  for (const candidate of candidates(name)) {
    for (const query of [() => resolver.resolve4(candidate), () => resolver.resolve6(candidate)]) {
      try {
        const addresses = await query();
        const address = addresses.find(isIPv4) ?? addresses[0];
        if (address !== undefined) return address;
      } catch (err) {
        const { code } = err as NodeJS.ErrnoException;
        if (code !== 'ENOTFOUND' && code !== 'ENODATA') failure = code === 'ETIMEOUT' ? 'i/o timeout' : 'server misbehaving';
      }
    }
  }
  throw new Error(failure);
}

function candidates(name: string): string[] {
  if (name.includes('.')) return [name];
  try {
    return [...parseResolvConf(readResolvConf('/etc/resolv.conf')).searches.map((domain) => `${name}.${domain}`), name];
  } catch {
    return [name];
  }
}
