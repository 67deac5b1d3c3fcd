/**
 * Caches this node's Node object from the API server: from a reflector on this one object and from the responses to the kubelet's own writes,
 * whichever is newer. For admission, fieldRef, owner references and the status.
 */
import { node as nodeSchema } from '../../shared/kubernetes/schema/objects.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import {
  acceptConforming,
  criticalWatchIdleTimeoutMs,
  fieldEquals,
  isOlder,
  Reflector,
  type ApiClient,
  type ApiObject,
  type ObjectChange,
} from '../api/index.ts';
import type { Node } from './node-object.ts';
import { Listeners } from '../../shared/concurrency/listeners.ts';

export type StoredNode = Node & ApiObject;
/** `deleted`: the watch reported the deletion. `missing`: a new list no longer contained the Node. */
export type NodeChange = 'changed' | 'deleted' | 'missing';

export interface NodeStoreOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

export class NodeStore {
  readonly #nodeName: string;
  #reflector: Reflector<StoredNode> | null = null;
  #node: StoredNode | null = null;
  /** The last observed version of any Node of this name. */
  #lastVersion = '';
  readonly #listeners = new Listeners<[change: NodeChange]>();
  readonly #synced = Promise.withResolvers<void>();

  private constructor(nodeName: string) {
    this.#nodeName = nodeName;
  }

  static start({ client, nodeName, clock, logger, random }: NodeStoreOptions): NodeStore {
    const store = new NodeStore(nodeName);
    store.#reflector = Reflector.start<StoredNode>({
      client,
      path: '/api/v1/nodes',
      fieldSelector: fieldEquals('metadata.name', nodeName),
      trafficClass: 'node',
      apiVersion: 'v1',
      kind: 'Node',
      accept: acceptConforming(nodeSchema, logger),
      idleTimeoutMs: criticalWatchIdleTimeoutMs,
      handler: {
        onReplace: (nodes) => store.#replace(nodes),
        onChange: (changes) => changes.forEach((change) => store.#handleChange(change)),
      },
      clock,
      logger,
      ...(random ? { random } : {}),
    });
    return store;
  }

  /** Returns null if the Node is not known yet or no longer exists. */
  get(): StoredNode | null {
    return this.#node;
  }

  /** Resolves when the Node is known for the first time. The first list may be older than the registration. */
  untilSynced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Stores the response to the kubelet's own read or write, unless the reflector has delivered a newer version. */
  observe(node: StoredNode): void {
    const { uid, resourceVersion = '' } = node.metadata;
    // A response with another UID than the stored Node's counts as late: the reflector delivers the Node that exists.
    const isLate = this.#node?.metadata.uid === uid || this.#node === null ? isOlder(resourceVersion, this.#lastVersion) : true;
    if (!isLate) this.#set(node);
  }

  /** Called when the cluster was reset. The new cluster's versions may be lower than the observed ones. */
  reset(): void {
    this.#node = null;
    this.#lastVersion = '';
  }

  /** Returns an unsubscribe function. */
  onChange(listener: (change: NodeChange) => void): () => void {
    return this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#reflector?.close();
  }

  #replace(nodes: readonly StoredNode[]): void {
    const node = nodes.find(({ metadata }) => metadata.name === this.#nodeName);
    // Accepts an older version, because the cluster may have been restored from a backup. If only the last own write was newer, its event follows.
    if (node) this.#set(node);
    else if (this.#node) {
      this.#node = null;
      this.#notify('missing');
    }
  }

  #handleChange({ type, object }: ObjectChange<StoredNode>): void {
    const { uid, name, resourceVersion = '' } = object.metadata;
    if (name !== this.#nodeName) return;
    if (type === 'DELETED') {
      if (this.#node && this.#node.metadata.uid !== uid) return;
      this.#node = null;
      this.#lastVersion = resourceVersion;
      this.#notify('deleted');
    } else if (this.#node?.metadata.uid !== uid || !isOlder(resourceVersion, this.#lastVersion)) this.#set(object);
  }

  #set(node: StoredNode): void {
    this.#node = node;
    this.#lastVersion = node.metadata.resourceVersion ?? '';
    this.#synced.resolve();
    this.#notify('changed');
  }

  #notify(change: NodeChange): void {
    this.#listeners.notify(change);
  }
}
