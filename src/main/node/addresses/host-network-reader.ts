/** Reads the host's network for the node's addresses: interfaces, routes, and the addresses that the node's name resolves to. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../../shared/time/clock.ts';
import { readHostInterfaces } from './host-interfaces.ts';
import type { HostNetwork } from './node-addresses.ts';

export interface HostNetworkReaderOptions {
  /** The name to look up in DNS. Null: no lookup. */
  readonly name: string | null;
  readonly clock: Clock;
}

/** A dead resolver must not delay the node's heartbeat. After this deadline the previous result is used. */
const lookupDeadlineMs = 1000;

export class HostNetworkReader {
  readonly #options: HostNetworkReaderOptions;
  #resolved: readonly string[] = [];
  /** At most one lookup runs at a time, because each occupies one of the process' few file threads until the resolver responds. */
  #lookup: Promise<void> | null = null;

  constructor(options: HostNetworkReaderOptions) {
    this.#options = options;
  }

  /** Never rejects. Unreadable routes are empty. */
  async read(): Promise<HostNetwork> {
    const [interfaces, ipv4, ipv6] = await Promise.all([
      readHostInterfaces(),
      readRoutes('/proc/net/route'),
      readRoutes('/proc/net/ipv6_route'),
      this.#resolve(),
    ]);
    return { interfaces, routes: { ipv4, ipv6 }, resolved: this.#resolved };
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

/** Null when the file does not exist. */
function readRoutes(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((err: NodeJS.ErrnoException) => (err.code === 'ENOENT' ? null : ''));
}
