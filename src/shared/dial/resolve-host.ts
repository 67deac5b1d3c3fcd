/**
 * Resolves host names of probes: the node's /etc/hosts, then DNS. getaddrinfo would occupy one of the four threads of libuv's pool for as long as a name
 * server does not answer, and main's file accesses would wait behind the probes of one pod.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { readResolvConf } from '../linux/resolv-conf.ts';
import { monotonicMs } from '../time/clock.ts';
import { nameCandidates } from './name-candidates.ts';
import { parseHosts } from './parse-hosts.ts';

/** The limits of the queries for one candidate, in ms and attempts. A probe's own timeout bounds how long the probe waits. */
const queryLimits = { timeout: 2000, tries: 2 };
/** After this time no further candidate is asked: later probes of the name ask again, maybe other servers. */
const maxLookupMs = 10_000;

export interface HostResolverOptions {
  readonly hostsFile: string;
  readonly resolvConfFile: string;
  /** Returns a resolver for the servers that resolv.conf names now. */
  readonly newResolver: () => Pick<Resolver, 'resolve4' | 'resolve6'>;
}

export class HostResolver {
  readonly #options: HostResolverOptions;
  readonly #pending = new Map<string, Promise<string>>();
  #resolvConf = '';
  #resolver: Pick<Resolver, 'resolve4' | 'resolve6'> | undefined;

  constructor(options: HostResolverOptions) {
    this.#options = options;
  }

  /** Resolves with an address, IPv4 first. Concurrent requests for a name share one lookup. Rejects with Go's text: `no such host`. */
  resolve(name: string): Promise<string> {
    let found = this.#pending.get(name);
    if (!found) {
      found = this.#lookup(name).finally(() => this.#pending.delete(name));
      this.#pending.set(name, found);
    }
    return found;
  }

  async #lookup(name: string): Promise<string> {
    const local = await readFile(this.#options.hostsFile, 'utf8').then(
      (text) => parseHosts(text, name),
      () => undefined,
    );
    if (local !== undefined) return local;
    const resolver = this.#currentResolver();
    const startedAtMs = monotonicMs();
    let failure = 'no such host';
    for (const candidate of nameCandidates(this.#resolvConf, name)) {
      if (monotonicMs() - startedAtMs >= maxLookupMs) break;
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

  /** A resolver reads resolv.conf only once; the node's servers change, for example with its DHCP lease. */
  #currentResolver(): Pick<Resolver, 'resolve4' | 'resolve6'> {
    let text = '';
    try {
      text = readResolvConf(this.#options.resolvConfFile);
    } catch {
      // The same as an empty file: the resolver then has its own default.
    }
    if (!this.#resolver || text !== this.#resolvConf) this.#resolver = this.#options.newResolver();
    this.#resolvConf = text;
    return this.#resolver;
  }
}

const resolver = new HostResolver({
  hostsFile: '/etc/hosts',
  resolvConfFile: '/etc/resolv.conf',
  newResolver: () => new Resolver(queryLimits),
});

export function resolveHost(name: string): Promise<string> {
  return resolver.resolve(name);
}
