/** Reads what configs depend on of this host. */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync.ts';
import type { HostFacts } from './types.ts';

/** One a thread: what cannot change while the node is up is read once, resolv.conf at each `read`. */
export class HostFactsReader {
  readonly #settings: PodSyncSettings;

  constructor(settings: PodSyncSettings) {
    this.#settings = settings;
  }

  /** Rejects with a clear error when resolv.conf cannot be read. */
  read(): Promise<HostFacts> {
    return Promise.reject(new Error(`under construction: ${this.#settings.resolvConf}`));
  }
}
