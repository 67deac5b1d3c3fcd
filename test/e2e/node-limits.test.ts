/** Node limits whose effect shows only after some time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState } from '../../src/shared/cri/generated/cri-v1.ts';
import { TestClusterNode } from '../support/cluster/cluster-node.ts';
import { fastTime } from '../support/kubelet/kubelet-environment.ts';
import { containersOf } from '../support/kubelet/observed-node-state.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

test('maximum-dead-containers limits the node’s dead containers, newest kept', async (t) => {
  const node = await TestNode.start(t, { flags: ['--maximum-dead-containers=1'], env: fastTime(6) });
  await node.startKubelet();
  const containerIDs: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    node.apply(aManifest(name, { restartPolicy: 'Never', containers: [aBusybox({ sh: 'true' })] }));
    const { status } = await node.until(name, 'has ended', ({ status }) => status?.phase === 'Succeeded');
    containerIDs.push(status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '');
  }
  const dead = async () => (await containersOf(node)).filter(({ state }) => state === ContainerState.CONTAINER_EXITED).map(({ id }) => id);
  assert.equal((await dead()).length, 3);
  // Garbage collection runs each minute of the kubelet's time.
  await waitUntil('one dead container is left', async () => (await dead()).length <= 1, 150_000);
  assert.deepEqual(await dead(), containerIDs.slice(-1));
});

test('eventRecordQPS and eventBurst limit the node’s events', async (t) => {
  const node = await TestClusterNode.start('event-rate', { config: { eventRecordQPS: 1, eventBurst: 1 } });
  t.after(() => node.destroy());
  await node.create('web');
  await node.untilRunning('web');
  const path = `/api/v1/namespaces/${node.namespace}/events?fieldSelector=involvedObject.name%3Dweb`;
  type Events = { items: { reason: string; metadata: { creationTimestamp: string } }[] };
  const events = await waitUntil(
    'the events of a start are written',
    async () => {
      const { items } = await node.api.get<Events>(path);
      return ['Pulled', 'Created', 'Started'].every((reason) => items.some((event) => event.reason === reason)) ? items : undefined;
    },
    60_000,
  );
  const writtenMs = events.map(({ metadata }) => Date.parse(metadata.creationTimestamp)).toSorted((a, b) => a - b);
  // Three events at one per second take two seconds; the server's timestamps are whole seconds.
  assert.ok(writtenMs.at(-1)! - writtenMs[0]! >= 1000, writtenMs.join());
});
