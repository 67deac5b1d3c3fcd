/** Reads the host's network for the node's addresses: its interfaces, its routes, and what its name resolves to. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../../shared/time/clock.ts';
import type { HostNetwork } from './addresses.ts';

export interface HostNetworkReaderOptions {
  /** Looked up in DNS; null: what it resolves to is not asked for. */
  readonly name: string | null;
  readonly clock: Clock;
}

/** A dead resolver must not delay a node's heartbeat: what was known before is taken then. */
const lookupDeadlineMs = 1000;

export class HostNetworkReader {
  readonly #options: HostNetworkReaderOptions;
  #resolved: readonly string[] = [];
  /** One at a time: each holds one of the process' few threads for files for as long as the resolver takes. */
  #lookup: Promise<void> | null = null;

  constructor(options: HostNetworkReaderOptions) {
    this.#options = options;
  }

  /** Never rejects: what can't be read is empty. */
  async read(): Promise<HostNetwork> {
    const file = (path: string) => readFile(path, 'utf8').catch(() => '');
    const [ipv4, ipv6] = await Promise.all([file('/proc/net/route'), file('/proc/net/ipv6_route'), this.#resolve()]);
    return { interfaces: networkInterfaces(), routes: { ipv4, ipv6 }, resolved: this.#resolved };
  }

  async #resolve(): Promise<void> {
    const { name, clock } = this.#options;
    if (name === null) return;
    this.#lookup ??= lookup(name, { all: true })
      .then(
        (found) => void (this.#resolved = found.map(({ address }) => address)),
        () => void (this.#resolved = []),
      )
      .finally(() => (this.#lookup = null));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(lookupDeadlineMs, resolve);
    await Promise.race([this.#lookup, late]);
    cancel();
  }
}
