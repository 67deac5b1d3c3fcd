/**
 * A separate control plane without controllers and scheduler, with one Node that no kubelet runs, so that only the tested parts of a kubelet
 * write to it. For suites that use `before` and `after` instead of a test's context.
 */
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import type { ApiConnection } from '../../../src/main/api/index.ts';
import type { Logger } from '../../../src/shared/log/logger.ts';
import { connectTo } from '../api-server/api-connection.ts';
import { Cleanups } from '../cleanups.ts';
import { privateCluster, type TestCluster } from './control-plane.ts';

export class BareCluster {
  readonly cluster: TestCluster<ControlPlane>;
  /** With the credentials of that node. */
  readonly connection: ApiConnection;
  readonly nodeUID: string;
  readonly #cleanups: Cleanups;

  private constructor(cluster: TestCluster<ControlPlane>, connection: ApiConnection, nodeUID: string, cleanups: Cleanups) {
    this.cluster = cluster;
    this.connection = connection;
    this.nodeUID = nodeUID;
    this.#cleanups = cleanups;
  }

  static async start(nodeName: string, logger: Logger): Promise<BareCluster> {
    const cleanups = new Cleanups();
    try {
      const cluster = await privateCluster(cleanups, { controllerManager: false, scheduler: false });
      const nodeUID = await populate(cluster, nodeName);
      const connection = await connectTo(cluster.controlPlane.kubeletKubeconfig(nodeName), { logger });
      return new BareCluster(cluster, connection, nodeUID, cleanups);
    } catch (err) {
      await cleanups.run();
      throw err;
    }
  }

  async close(): Promise<void> {
    await this.connection.close();
    await this.#cleanups.run();
  }
}

/** Creates the default service account, as controllers would, and the Node. Resolves with the Node's UID. */
export async function populate({ api }: TestCluster, nodeName: string): Promise<string> {
  await api.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }).catch(() => {});
  const node = await api.create<{ metadata: { uid: string } }>('/api/v1/nodes', { metadata: { name: nodeName } });
  return node.metadata.uid;
}
