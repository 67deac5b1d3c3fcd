/** Writes the drivers of this node into the Node and the CSINode, one change after the other (upstream pkg/volume/csi/nodeinfomanager). */
import { KeyedSequence } from '../../../shared/concurrency/keyed-sequence.ts';
import type { DriverNodeInfo, StorageHealthCondition } from '../../../shared/contracts/volumes.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import { apiPath, isNotFound, type ApiClient, type ApiObject } from '../../api/index.ts';
import { isOwnedBy, newCsiNode, withDriver, withMigratedPlugins, withoutDriver, type CsiNode } from './csi-node.ts';
import { installPatch, uninstallPatch, type NodeMetadata, type NodeMetadataPatch } from './node-metadata.ts';
import { withStorageHealth } from './storage-health.ts';

export interface CsiNodeWriterOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
}

type NodeWithMetadata = ApiObject & { readonly metadata: NodeMetadata };

const common = { trafficClass: 'node', deadlineMs: 10_000, maxAttempts: 1 } as const;

export class CsiNodeWriter {
  readonly #options: CsiNodeWriterOptions;
  readonly #changes = new KeyedSequence<'node'>();

  constructor(options: CsiNodeWriterOptions) {
    this.#options = options;
  }

  /** Makes the CSINode if necessary, with the migrated plugins. */
  initialize(): Promise<void> {
    return this.#changes.run('node', async () => {
      const node = await this.#node();
      const csiNode = await this.#ownCsiNode(node.metadata.uid);
      await this.#replace(csiNode, withMigratedPlugins(csiNode));
    });
  }

  /** Rejects with an Error for the driver. */
  install(name: string, info: DriverNodeInfo): Promise<void> {
    return this.#changes.run('node', async () => {
      if (info.nodeID === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
      const node = await this.#node();
      await this.#patchNode(installPatch(node.metadata, name, info.nodeID, info.topology));
      const csiNode = await this.#ownCsiNode(node.metadata.uid);
      await this.#replace(csiNode, withDriver(csiNode, name, info));
    });
  }

  /** Changes the CSINode of a registered driver only. Rejects with an Error. */
  updateDriver(name: string, info: DriverNodeInfo): Promise<void> {
    return this.#changes.run('node', async () => {
      const csiNode = await this.#read();
      // A driver that has left meanwhile is not added again.
      if (csiNode?.spec.drivers?.some((driver) => driver.name === name)) await this.#replace(csiNode, withDriver(csiNode, name, info));
    });
  }

  /** Writes what the driver reports of its storage, if that has changed. Rejects with an Error. */
  setStorageHealth(name: string, conditions: readonly StorageHealthCondition[], nowMs: number): Promise<void> {
    return this.#changes.run('node', async () => {
      const csiNode = await this.#read();
      if (!csiNode) throw new Error('the CSINode does not exist');
      const changed = withStorageHealth(csiNode, name, conditions, toApiTime(nowMs));
      if (changed === csiNode) return;
      const node = await this.#node();
      if (!isOwnedBy(csiNode, this.#options.nodeName, node.metadata.uid)) throw new Error('the CSINode belongs to an earlier Node');
      await this.#options.client.call({ ...common, method: 'PUT', path: `${this.#path()}/status`, body: changed });
    });
  }

  uninstall(name: string): Promise<void> {
    return this.#changes.run('node', async () => {
      const csiNode = await this.#read();
      if (csiNode) await this.#replace(csiNode, withoutDriver(csiNode, name));
      const node = await this.#node();
      await this.#patchNode(uninstallPatch(node.metadata, name));
    });
  }

  #node(): Promise<NodeWithMetadata> {
    return this.#options.client.call<NodeWithMetadata>({
      ...common,
      method: 'GET',
      path: apiPath('api', 'v1', 'nodes', this.#options.nodeName),
    });
  }

  async #patchNode(metadata: NodeMetadataPatch | null): Promise<void> {
    if (!metadata) return;
    const path = apiPath('api', 'v1', 'nodes', this.#options.nodeName, 'status');
    await this.#options.client.call({ ...common, method: 'PATCH', path, patch: 'strategic', body: { metadata } });
  }

  /** Resolves with the CSINode of this Node. One of an earlier Node with the same name is replaced, with what its drivers have written. */
  async #ownCsiNode(nodeUID: string): Promise<CsiNode> {
    const { client, nodeName } = this.#options;
    const existing = await this.#read();
    if (existing && isOwnedBy(existing, nodeName, nodeUID)) return existing;
    if (existing)
      await client.call({ ...common, method: 'DELETE', path: this.#path(), body: { preconditions: { uid: existing.metadata.uid } } });
    const path = apiPath('apis', 'storage.k8s.io', 'v1', 'csinodes');
    return client.call<CsiNode>({ ...common, method: 'POST', path, body: newCsiNode(nodeName, nodeUID) });
  }

  async #read(): Promise<CsiNode | null> {
    try {
      return await this.#options.client.call<CsiNode>({ ...common, method: 'GET', path: this.#path() });
    } catch (err) {
      if (isNotFound(err)) return null;
      throw err;
    }
  }

  /** The version of `csiNode` is part of the update, so that another writer's change is not lost. */
  async #replace(csiNode: CsiNode, changed: CsiNode): Promise<void> {
    if (changed !== csiNode) await this.#options.client.call({ ...common, method: 'PUT', path: this.#path(), body: changed });
  }

  #path(): string {
    return apiPath('apis', 'storage.k8s.io', 'v1', 'csinodes', this.#options.nodeName);
  }
}
