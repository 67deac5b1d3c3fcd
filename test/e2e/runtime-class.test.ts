/** RuntimeClasses with a real API server, and a containerd with two handlers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { secondRuntimeHandler } from '../../scripts/host/private-containerd.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aManifest, TestNode } from '../support/kubelet/test-node.ts';

const nodeName = 'class-node';
const className = 'class-second';
const classPath = '/apis/node.k8s.io/v1/runtimeclasses';

describe('a pod with a runtime class', () => {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const hooks = { after: (clean: () => Promise<unknown> | void) => void cleanups.push(clean) };
  let cluster: TestCluster;
  let namespace: string;
  let node: TestNode;

  const podPath = (name: string) => `/api/v1/namespaces/${namespace}/pods/${name}`;
  const createPod = (name: string) =>
    cluster.api.create(podPath(''), aManifest(name, { nodeName, runtimeClassName: className }, { namespace }));
  const createClass = () => cluster.api.create(classPath, { metadata: { name: className }, handler: secondRuntimeHandler });
  const untilRunning = (name: string) =>
    waitUntil(`${name} runs`, async () => (await cluster.api.get<Pod>(podPath(name))).status?.phase === 'Running', 60_000);
  const handlerOf = async (name: string) => {
    const { items } = await node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
    return items.find(({ metadata }) => metadata?.name === name)?.runtimeHandler;
  };

  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    namespace = await cluster.namespace(hooks);
    hooks.after(() => cluster.api.delete(`${classPath}/${className}`).catch(() => {}));
    await createClass();
    node = await TestNode.start(hooks, await cluster.member(hooks, nodeName));
  });
  after(async () => {
    await cluster?.kubectl('-n', namespace, 'delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    for (const clean of cleanups.reverse()) await clean();
  });

  test('waits for a missing RuntimeClass with a reason, and runs when it exists', async () => {
    // The API server's admission refuses such a pod.
    await createPod('early');
    await cluster.api.delete(`${classPath}/${className}`);
    await node.startKubelet();
    const message = `Failed to create pod sandbox: runtimeclass.node.k8s.io "${className}" not found`;
    await waitUntil(
      'the missing RuntimeClass is recorded as an event',
      async () => (await cluster.kubectl('-n', namespace, 'get', 'events', '-o', 'jsonpath={.items[*].message}')).includes(message),
      60_000,
    );
    await createClass();
    await untilRunning('early');
    assert.equal(await handlerOf('early'), secondRuntimeHandler);
  });

  test('with an existing class runs at once', async () => {
    await createPod('late');
    await untilRunning('late');
    assert.equal(await handlerOf('late'), secondRuntimeHandler);
  });
});
