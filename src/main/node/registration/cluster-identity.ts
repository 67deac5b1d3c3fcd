/**
 * Which cluster this is: known by the UID of the service `default/kubernetes`, which every API server makes at its first start and a
 * node may read. Its etcd emptied, the same address is another cluster, in which nothing of this node is known.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { isNotFound, type ApiClient } from '../../api/index.ts';

interface Service {
  readonly metadata?: { readonly uid?: string };
}

export class ClusterIdentity {
  readonly #client: ApiClient;
  readonly #logger: Logger;
  readonly #deadlineMs: number;
  #uid: string | null = null;

  constructor({ client, logger, deadlineMs }: { readonly client: ApiClient; readonly logger: Logger; readonly deadlineMs: number }) {
    this.#client = client;
    this.#logger = logger;
    this.#deadlineMs = deadlineMs;
  }

  /** Keeps who the cluster is, if that is not known yet. Never rejects. */
  async recordUID(signal: AbortSignal): Promise<void> {
    if (this.#uid === null) this.#uid = await this.#ask(signal);
  }

  /** True when it is surely another than the one that was known; what is remembered is then the new one. Never rejects. */
  async hasChanged(signal: AbortSignal): Promise<boolean> {
    const uid = await this.#ask(signal);
    const hasChanged = uid !== null && this.#uid !== null && uid !== this.#uid;
    this.#uid = uid ?? this.#uid;
    return hasChanged;
  }

  /** Null: it can't be told now. */
  async #ask(signal: AbortSignal): Promise<string | null> {
    const path = '/api/v1/namespaces/default/services/kubernetes';
    try {
      const call = { method: 'GET', path, trafficClass: 'node', deadlineMs: this.#deadlineMs, maxAttempts: 1, signal } as const;
      return (await this.#client.call<Service>(call)).metadata?.uid ?? null;
    } catch (err) {
      if (!signal.aborted && !isNotFound(err)) this.#logger.debug({ err: messageOf(err) }, 'Asking which cluster this is failed');
      return null;
    }
  }
}
