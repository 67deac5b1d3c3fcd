/** A CSI driver that gets tokens of the pods' service accounts, and publishes volumes with each sync of their pods. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { ClusterCsiDriver } from '../../support/csi-driver/cluster-csi-driver.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-csi-tokens';
const driverName = 'tokens.csi.example';
const attribute = 'csi.storage.k8s.io/serviceAccount.tokens';

interface Publication {
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

describe('CSI drivers that request tokens', () => {
  let node: TestClusterNode;
  let driver: ClusterCsiDriver;
  const driverPath = `/apis/storage.k8s.io/v1/csidrivers/${driverName}`;
  const publications = () =>
    driver
      .journal()
      .filter(({ method }) => method === 'NodePublishVolume')
      .map(({ request, code }) => ({ ...(request as Publication), code }));
  const annotate = (count: number) => node.kubectl('annotate', 'pod', 'vault', '--overwrite', `example/sync=${count}`);

  before(async () => {
    node = await TestClusterNode.start(nodeName);
    driver = await ClusterCsiDriver.create(
      node,
      driverName,
      {
        attachRequired: false,
        volumeLifecycleModes: ['Ephemeral'],
        tokenRequests: [{ audience: 'vault', expirationSeconds: 600 }],
        requiresRepublish: true,
      },
      { nodeID: 'id-of-node' },
    );
    await driver.start();
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await driver?.destroy();
    await node?.destroy();
  });

  test('a driver gets tokens in the context or the secrets, with each sync; a failure keeps the mount, and tokens are nowhere else', async () => {
    await node.create('vault', {
      terminationGracePeriodSeconds: 1,
      containers: [aBusybox({ sh: 'echo kept > /data/f; exec sleep 3600', volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', csi: { driver: driverName } }],
    });
    await node.untilRunning('vault');
    const { volumeContext } = publications()[0]!;
    const tokens = JSON.parse(volumeContext[attribute] ?? '') as Readonly<Record<string, { readonly token: string }>>;
    const token = tokens['vault']?.token ?? '';
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { readonly aud: unknown };
    assert.deepEqual([Object.keys(tokens), claims.aud], [['vault'], ['vault']]);

    await node.api.patch(driverPath, { spec: { serviceAccountTokenInSecrets: true } });
    const before = publications().length;
    await annotate(1);
    await waitUntil('the volume is published again, with the token in the secrets', () => {
      const [last] = publications().slice(before).reverse();
      return last?.secrets[attribute] !== undefined && last.volumeContext[attribute] === undefined;
    });
    driver.setFaults({ NodePublishVolume: { code: 'INTERNAL', message: `refused ${token}` } });
    await annotate(2);
    await node.untilEvent(
      'vault',
      'FailedMount',
      /^MountVolume\.SetUp failed for volume "data" : rpc error: code = Internal desc = refused \[secret\]$/,
    );
    assert.equal(await node.exec('vault', 'cat /data/f'), 'kept\n');
    assert.ok(!node.node.log().includes(token));
    assert.ok(!(await node.kubectl('get', 'events', '-o', 'yaml')).includes(token));
    driver.setFaults({});
    await node.delete('vault');
    await node.untilGone('vault');
    assert.equal(driver.journal().at(-1)?.method, 'NodeUnpublishVolume');
  });
});
