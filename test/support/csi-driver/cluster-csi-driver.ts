/**
 * A test driver on a node of a cluster, with its CSIDriver:
 *
 *   const driver = await ClusterCsiDriver.create(node, 'test.csi.example', { attachRequired: false }, { nodeID: 'id-of-node' });
 *   await driver.start();
 *   after(() => driver.destroy());
 */
import { join } from 'node:path';
import type { TestClusterNode } from '../cluster/cluster-node.ts';
import type { CsiDriverOptions } from './options.ts';
import { TestCsiDriver } from './test-csi-driver.ts';

const path = '/apis/storage.k8s.io/v1/csidrivers';

export class ClusterCsiDriver extends TestCsiDriver {
  readonly #node: TestClusterNode;

  private constructor(node: TestClusterNode, options: CsiDriverOptions) {
    super(options);
    this.#node = node;
  }

  /** @param spec of the CSIDriver, which is created now */
  static async create(
    node: TestClusterNode,
    name: string,
    spec: object,
    options: Omit<CsiDriverOptions, 'name' | 'socket' | 'registrationSocket' | 'stateDir'>,
  ): Promise<ClusterCsiDriver> {
    const { rootDir, folder } = node.node;
    await node.api.create(path, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name }, spec });
    return new ClusterCsiDriver(node, {
      ...options,
      name,
      socket: join(rootDir, 'plugins', name, 'csi.sock'),
      registrationSocket: join(rootDir, 'plugins_registry', `${name}-reg.sock`),
      stateDir: join(folder, `csi-driver-${name}`),
    });
  }

  /** Also deletes the CSIDriver. */
  async destroy(): Promise<void> {
    await this.#node.api.delete(`${path}/${this.options.name}`).catch(() => {});
    await this.stop();
  }
}
