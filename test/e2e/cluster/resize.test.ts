/** Resources in a pod's status, and in-place resize: the pod keeps its admitted resources and reports that. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ContainerStatus, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const small = { requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '64Mi' } };
const withResources = (resources: object): Partial<PodSpec> => ({
  containers: [
    aBusybox({
      resources,
      env: [{ name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } }],
    }),
  ],
});

describe('a pod with a resize request', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-resize');
  });
  after(() => node?.destroy());

  const resize = (name: string, resources: object) =>
    node.kubectl(
      'patch',
      'pod',
      name,
      '--subresource',
      'resize',
      '-p',
      JSON.stringify({ spec: { containers: [{ name: 'app', resources }] } }),
    );
  const pending = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodResizePending');
  const resizeEvents = async (name: string) => (await node.events(name)).filter(({ reason }) => reason === 'ResizeInfeasible');
  /** The reported resources of the containers and of the pod. */
  const resourcesIn = ({ status }: Pod) => {
    const [container] = status?.containerStatuses ?? [];
    return {
      container: { resources: container?.resources, allocatedResources: container?.allocatedResources },
      pod: { resources: status?.resources, allocatedResources: status?.allocatedResources },
    };
  };
  const admitted = {
    container: { resources: small, allocatedResources: small.requests },
    pod: { resources: small, allocatedResources: small.requests },
  };
  const isRestarted = ([app]: readonly ContainerStatus[] = []) => app?.restartCount === 1 && app.ready;

  test('reports the resources of its containers and of the pod', async () => {
    await node.create('shown', withResources(small));
    assert.deepEqual(resourcesIn(await node.untilRunning('shown')), admitted);
    await node.create('none', withResources({}));
    const { container, pod } = resourcesIn(await node.untilRunning('none'));
    assert.deepEqual(
      [container, pod],
      [
        { resources: {}, allocatedResources: undefined },
        { resources: {}, allocatedResources: undefined },
      ],
    );
  });

  test('keeps its admitted resources, and takes none from other pods', async () => {
    await node.create('greedy', withResources(small));
    await node.untilRunning('greedy');
    // The API server refuses to resize a pod to more than the node has.
    const { status: nodeStatus } = await node.api.get<{ status: { allocatable: { cpu: string } } }>(node.nodePath);
    const { cpu } = nodeStatus.allocatable;
    await resize('greedy', { requests: { cpu }, limits: { memory: '128Mi' } });
    const resized = await node.until('greedy', 'has its resize pending', (pod) => pending(pod) !== undefined);
    const { status, reason, message, observedGeneration } = pending(resized)!;
    assert.deepEqual([status, reason, message, observedGeneration], ['True', 'Infeasible', 'In-place resize is not supported.', 2]);
    assert.deepEqual(resourcesIn(resized), admitted);
    const event = await node.untilEvent('greedy', 'ResizeInfeasible', /^Pod resize Infeasible: /);
    assert.deepEqual(JSON.parse(event.message.slice('Pod resize Infeasible: '.length)), {
      containers: [{ name: 'app', resources: { limits: { memory: '128Mi' }, requests: { cpu, memory: '32Mi' } } }],
      generation: 2,
      error: 'In-place resize is not supported.',
    });

    await node.create('neighbour', withResources({ requests: { cpu: '100m' } }));
    await node.untilRunning('neighbour');

    // The shell may exit with the container before it has printed the result.
    await node.exec('greedy', 'kill 1').catch(() => {});
    const restarted = await node.until('greedy', 'runs again', ({ status }) => isRestarted(status?.containerStatuses));
    assert.deepEqual(resourcesIn(restarted), admitted);
    const limit = 'cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes';
    assert.equal(await node.exec('greedy', `echo $CPU; ${limit}`), `20\n${64 * 1024 * 1024}\n`);
  });

  test('keeps PodResizePending across a restart, until its spec matches again', async () => {
    const { metadata } = await node.get('greedy');
    const before = pending(await node.get('greedy'));
    await node.restartKubelet('SIGKILL');
    await node.untilReady();
    await node.create('after-restart', withResources({ requests: { cpu: '100m' } }));
    await node.untilRunning('after-restart');
    const after = await node.get('greedy');
    assert.deepEqual([after.metadata.uid, pending(after), resourcesIn(after)], [metadata.uid, before, admitted]);
    assert.equal((await resizeEvents('greedy')).length, 1);
    await resize('greedy', { requests: { cpu: '0.02' }, limits: { memory: '64Mi' } });
    const restored = await node.until('greedy', 'has nothing pending', (pod) => pending(pod) === undefined);
    assert.deepEqual(resourcesIn(restored), admitted);
  });

  test('cannot be resized at pod level, which the Node does not declare', async () => {
    const podLevel = { requests: { cpu: '50m' }, limits: { memory: '128Mi' } };
    await node.create('pod-level', { ...withResources(small), resources: podLevel });
    const { pod } = resourcesIn(await node.untilRunning('pod-level'));
    assert.deepEqual(pod, {
      resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { memory: '128Mi' } },
      allocatedResources: { cpu: '50m', memory: '32Mi' },
    });
    const patch = JSON.stringify({ spec: { resources: { requests: { cpu: '60m' } } } });
    await assert.rejects(
      node.kubectl('patch', 'pod', 'pod-level', '--subresource', 'resize', '-p', patch),
      /InPlacePodLevelResourcesVerticalScaling/,
    );
  });
});
