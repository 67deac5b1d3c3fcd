import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/pods/fake-node.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const uid = (name: string) => name as PodUID;

test('a pod whose sync waits for its slot has its first status half a second after it was seen', async () => {
  const node = await FakeNode.start();
  node.slotGranted = new Promise(() => {});
  await node.clock.advance(1000);
  const seen = new Date(node.clock.now() - 100).toISOString();
  await node.add(aPod({ metadata: { name: 'web', uid: 'web', annotations: { 'kubernetes.io/config.seen': seen } } }));
  await node.clock.advance(399);
  assert.equal(node.phase('web'), undefined);
  await node.clock.advance(1);
  assert.equal(node.phase('web'), 'Pending');
});

test('a pod that was seen before the clock was set back has its first status within half a second', async () => {
  const node = await FakeNode.start();
  node.slotGranted = new Promise(() => {});
  const seen = new Date(node.clock.now() + 3_600_000).toISOString();
  await node.add(aPod({ metadata: { name: 'web', uid: 'web', annotations: { 'kubernetes.io/config.seen': seen } } }));
  await node.clock.advance(500);
  assert.equal(node.phase('web'), 'Pending');
});

test('a pod with a status in the API server gets no other status before its sync', async () => {
  const node = await FakeNode.start();
  node.slotGranted = new Promise(() => {});
  await node.add(aPod({ metadata: { name: 'web', uid: 'web' }, status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' } }));
  await node.clock.advance(60_000);
  assert.equal(node.phase('web'), undefined);
});

test('a failed task expedites the status that it caused', async () => {
  const node = await FakeNode.start();
  const published: string[] = [];
  node.sink = {
    set: ({ status }) => void published.push(status.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
    expedite: () => void published.push('expedite'),
  };
  await node.add(aStaticPod('web'));
  const waiting = { app: { reason: 'ErrImagePull', message: 'x' } };
  await node.completeTask(node.task('sync'), { outcome: 'failed', waiting, failure: { reason: 'ErrImagePull', message: 'x' } });
  assert.deepEqual(published, ['ContainerCreating', 'ErrImagePull', 'expedite']);
});

test('a pod whose inspection fails has a first status', async () => {
  const node = await FakeNode.start();
  const pod = aStaticPod('web');
  node.inspectError = new Error('no answer');
  node.workers.update(pod, 'create');
  const failed = aRuntimePodStatus({
    podUID: uid('web'),
    observedAtMs: 1,
    failure: { reason: 'ContainerStatusUnknown', message: 'no answer' },
  });
  node.cache.apply({ statuses: [failed], removed: [], events: [] });
  await settle();
  assert.equal(node.statuses.get(uid('web'))?.reason, 'ContainerStatusUnknown');
});

test('the waiting reason of a container is published before its task ends', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  node.workers.addWaitingReason(uid('web'), 'app', { reason: 'ErrImagePull', message: 'x' });
  assert.equal(state(node)?.waiting?.reason, 'ErrImagePull');
});

const state = (node: FakeNode) => node.statuses.get(uid('web'))?.containerStatuses?.[0]?.state;

/** A pod with the restart policy Never whose task has stopped its container to restart it with another image. */
async function aPodUnderRestart(node: FakeNode) {
  const pod = aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } });
  await node.addRunningPod(pod);
  const running = node.runtime.get(uid('web'))!;
  node.workers.update(aPod({ ...pod, spec: { ...pod.spec, containers: [{ name: 'app', image: 'two' }] } }), 'update');
  await settle();
  assert.equal(node.workers.beginRestart(uid('web'), running.containers), true);
  const [container] = running.containers;
  const stopped = { ...running, containers: [anExitedContainer(0, { id: container!.id })] };
  node.runtime.set(uid('web'), stopped);
  node.cache.apply({ statuses: [{ ...stopped, observedAtMs: 1 }], removed: [], events: [] });
  await node.clock.advance(2);
  node.workers.refreshStatuses([uid('web')]);
  return { running, stopped };
}

test('a container that its task restarts is not published as terminated, and its next instance is published', async () => {
  const node = await FakeNode.start();
  const { running, stopped } = await aPodUnderRestart(node);
  assert.deepEqual(Object.keys(state(node)!), ['running']);
  assert.equal(node.phase('web'), 'Running');
  const next = aRuntimeContainer({ id: 'next' as ContainerID, restartCount: 1 });
  node.runtime.set(uid('web'), { ...running, containers: [next, ...stopped.containers] });
  await node.completeTask(node.task('sync'));
  const [app] = node.statuses.get(uid('web'))?.containerStatuses ?? [];
  assert.deepEqual([app?.containerID, app?.restartCount, app?.lastState?.terminated?.exitCode], ['containerd://next', 1, 0]);
  assert.equal(node.phase('web'), 'Running');
});

test('a container that its task could not restart is published as terminated', async () => {
  const node = await FakeNode.start();
  await aPodUnderRestart(node);
  await node.completeTask(node.task('sync'), { outcome: 'failed', failure: { reason: 'ErrImagePull', message: 'x' } });
  assert.equal(state(node)?.terminated?.exitCode, 0);
  assert.equal(node.phase('web'), 'Succeeded');
});

test('an exit that was reported before the restart stays published', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod(aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } }));
  const { containers } = node.runtime.get(uid('web'))!;
  node.workers.update(aPod({ ...pod, spec: { ...pod.spec, containers: [{ name: 'app', image: 'two' }] } }), 'update');
  await settle();
  const ended = aRuntimePodStatus({ podUID: uid('web'), observedAtMs: 1, containers: [anExitedContainer(1, { id: containers[0]!.id })] });
  node.cache.apply({ statuses: [ended], removed: [], events: [] });
  node.workers.refreshStatuses([uid('web')]);
  assert.equal(node.workers.beginRestart(uid('web'), containers), false);
  assert.equal(state(node)?.terminated?.exitCode, 1);
});
