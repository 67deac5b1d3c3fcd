/** RuntimeClasses with a real API server, and a containerd with two handlers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { secondRuntimeHandler } from '../../scripts/host/private-containerd.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

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
  const createPod = (name: string, spec: Partial<PodSpec> = {}) =>
    cluster.api.create(podPath(''), aManifest(name, { nodeName, runtimeClassName: className, ...spec }, { namespace }));
  const untilEvent = (message: RegExp) =>
    waitUntil(
      `an event has the message ${message.source}`,
      async () =>
        message.test(
          await cluster.kubectl('-n', namespace, 'get', 'events', '-o', String.raw`jsonpath={range .items[*]}{.message}{"\n"}{end}`),
        ),
      60_000,
    );
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
    await untilEvent(new RegExp(`^Failed to create pod sandbox: runtimeclass\\.node\\.k8s\\.io "${className}" not found$`, 'm'));
    await createClass();
    await untilRunning('early');
    assert.equal(await handlerOf('early'), secondRuntimeHandler);
  });

  test('with an existing class runs at once', async () => {
    await createPod('late');
    await untilRunning('late');
    assert.equal(await handlerOf('late'), secondRuntimeHandler);
  });

  test('of a handler that the runtime does not have waits with the runtime’s error', async () => {
    await cluster.api.create(classPath, { metadata: { name: 'class-unknown' }, handler: 'no-such-handler' });
    hooks.after(() => cluster.api.delete(`${classPath}/class-unknown`).catch(() => {}));
    await createPod('unknown', { runtimeClassName: 'class-unknown' });
    await untilEvent(/^Failed to create pod sandbox: rpc error: code = Unknown desc = .*no runtime for "no-such-handler" is configured/m);
    const { status } = await cluster.api.get<Pod>(podPath('unknown'));
    assert.equal(status?.phase, 'Pending');
  });

  test('with an overhead gets it in its cgroup, and admission counts it', async () => {
    const overhead = { podFixed: { memory: '16Mi', cpu: '50m' } };
    await cluster.api.create(classPath, { metadata: { name: 'class-heavy' }, handler: secondRuntimeHandler, overhead });
    const huge = { podFixed: { memory: '900Ti' } };
    await cluster.api.create(classPath, { metadata: { name: 'class-huge' }, handler: secondRuntimeHandler, overhead: huge });
    hooks.after(() => cluster.api.delete(`${classPath}/class-heavy`).catch(() => {}));
    hooks.after(() => cluster.api.delete(`${classPath}/class-huge`).catch(() => {}));
    const resources = { limits: { cpu: '200m', memory: '32Mi' } };
    await createPod('heavy', { runtimeClassName: 'class-heavy', containers: [aBusybox({ resources })] });
    await createPod('huge', { runtimeClassName: 'class-huge' });
    await untilRunning('heavy');
    const { metadata, spec } = await cluster.api.get<Pod>(podPath('heavy'));
    assert.deepEqual(spec.overhead, overhead.podFixed);
    const cgroup = `${node.cgroupRoot}/kubepods/pod${metadata.uid}`;
    const read = (file: string) => readFileSync(join('/sys/fs/cgroup', file.split('.')[0] ?? '', cgroup, file), 'utf8').trim();
    assert.deepEqual(
      [read('memory.limit_in_bytes'), read('cpu.shares'), read('cpu.cfs_quota_us')],
      [String((32 + 16) * 1024 * 1024), '256', '25000'],
    );
    const { status } = await waitUntil(
      'the huge pod is refused',
      async () => {
        const pod = await cluster.api.get<Pod>(podPath('huge'));
        return pod.status?.phase === 'Failed' ? pod : undefined;
      },
      60_000,
    );
    assert.match(`${status?.reason}: ${status?.message}`, /^OutOfmemory: .*requested: 989560464998400/);
  });
});
