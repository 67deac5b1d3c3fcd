/**
 * Identifies the cluster by the UID of the service `default/kubernetes`, which every API server creates at its first start and which nodes
 * may read. After its etcd was emptied, the same address is another cluster that does not know this node.
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

  /** Records the cluster's UID if it is not known yet. Never rejects. */
  async recordUID(signal: AbortSignal): Promise<void> {
    if (this.#uid === null) this.#uid = await this.#fetchUID(signal);
  }

  /** Resolves with true if the cluster's UID differs from the recorded one, and records the new UID. Never rejects. */
  async hasChanged(signal: AbortSignal): Promise<boolean> {
    const uid = await this.#fetchUID(signal);
    const hasChanged = uid !== null && this.#uid !== null && uid !== this.#uid;
    this.#uid = uid ?? this.#uid;
    return hasChanged;
  }

  /** Resolves with null if the UID can't be read. */
  async #fetchUID(signal: AbortSignal): Promise<string | null> {
    const path = '/api/v1/namespaces/default/services/kubernetes';
    try {
      const call = { method: 'GET', path, trafficClass: 'node', deadlineMs: this.#deadlineMs, maxAttempts: 1, signal } as const;
      return (await this.#client.call<Service>(call)).metadata?.uid ?? null;
    } catch (err) {
      if (!signal.aborted && !isNotFound(err)) this.#logger.debug({ err: messageOf(err) }, 'Reading the identity of the cluster failed');
      return null;
    }
  }
}
