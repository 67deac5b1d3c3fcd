/**
 * A test driver on a node of a cluster, with its CSIDriver:
 *
 *   const driver = await ClusterCsiDriver.create(node, 'test.csi.example', { attachRequired: false }, { nodeID: 'id-of-node' });
 *   await driver.start();
 *   after(() => driver.destroy());
 */
import { join } from 'node:path';
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';
import type { TestNode } from '../kubelet/test-node.ts';
import type { CsiDriverOptions } from './options.ts';
import { TestCsiDriver } from './test-csi-driver.ts';

const path = '/apis/storage.k8s.io/v1/csidrivers';

/** The node with the driver. */
export interface DriverHost {
  readonly node: Pick<TestNode, 'rootDir' | 'folder'>;
  readonly api: ApiClient;
}

export class ClusterCsiDriver extends TestCsiDriver {
  readonly #host: DriverHost;

  private constructor(host: DriverHost, options: CsiDriverOptions) {
    super(options);
    this.#host = host;
  }

  /** @param spec of the CSIDriver, which is created now */
  static async create(
    host: DriverHost,
    name: string,
    spec: object,
    options: Omit<CsiDriverOptions, 'name' | 'socket' | 'registrationSocket' | 'stateDir'>,
  ): Promise<ClusterCsiDriver> {
    const { rootDir, folder } = host.node;
    await host.api.create(path, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name }, spec });
    return new ClusterCsiDriver(host, {
      ...options,
      name,
      socket: join(rootDir, 'plugins', name, 'csi.sock'),
      registrationSocket: join(rootDir, 'plugins_registry', `${name}-reg.sock`),
      stateDir: join(folder, `csi-driver-${name}`),
    });
  }

  /** Also deletes the CSIDriver. */
  async destroy(): Promise<void> {
    await this.#host.api.delete(`${path}/${this.options.name}`).catch(() => {});
    await this.stop();
  }
}
