/**
 * A control plane of a suite's own, without controllers and scheduler, whose one Node nobody runs: what a kubelet's parts write and hear is
 * theirs alone. For `before` and `after`, which have no test to hang an end on.
 */
import type { ControlPlane } from '../../scripts/host/control-plane.ts';
import type { ApiConnection } from '../../src/main/api/index.ts';
import type { Logger } from '../../src/shared/log/logger.ts';
import { connectTo } from './api-connection.ts';
import { privateCluster, type TestCluster } from './control-plane.ts';

type End = () => Promise<void>;

export class BareCluster {
  readonly cluster: TestCluster<ControlPlane>;
  /** By that node's own right. */
  readonly connection: ApiConnection;
  readonly nodeUID: string;
  readonly #ends: readonly End[];

  private constructor(cluster: TestCluster<ControlPlane>, connection: ApiConnection, nodeUID: string, ends: readonly End[]) {
    this.cluster = cluster;
    this.connection = connection;
    this.nodeUID = nodeUID;
    this.#ends = ends;
  }

  static async start(nodeName: string, logger: Logger): Promise<BareCluster> {
    const ends: End[] = [];
    try {
      const cluster = await privateCluster({ after: (end) => void ends.push(end) }, { controllerManager: false, scheduler: false });
      const nodeUID = await populate(cluster, nodeName);
      const connection = await connectTo(cluster.controlPlane.kubeletKubeconfig(nodeName), { logger });
      return new BareCluster(cluster, connection, nodeUID, ends);
    } catch (err) {
      for (const end of ends) await end();
      throw err;
    }
  }

  async close(): Promise<void> {
    await this.connection.close();
    for (const end of this.#ends) await end();
  }
}

/** What controllers would make: the service account of the default namespace, and the Node, whose UID it answers with. */
export async function populate({ api }: TestCluster, nodeName: string): Promise<string> {
  await api.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }).catch(() => {});
  const node = await api.create<{ metadata: { uid: string } }>('/api/v1/nodes', { metadata: { name: nodeName } });
  return node.metadata.uid;
}
