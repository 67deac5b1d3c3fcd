/** What the results of probes do to a pod: its status, its next sync, and the start after a restart of the kubelet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProbeHandlers } from '../../../../../src/main/wiring/probe-handlers.ts';
import type { ProbeResult } from '../../../../../src/shared/contracts/probes.ts';
import type { SyncPodTask } from '../../../../../src/shared/contracts/pod-sync/task.ts';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { FakeNode } from '../../../../support/pods/fake-node.ts';
import { aContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const uid = 'web' as PodUID;
const exec = { exec: { command: ['true'] } };
const probed = aContainer({ livenessProbe: exec, readinessProbe: exec, startupProbe: exec });
const aProbedPod = (fields: Parameters<typeof aPod>[0] = {}) =>
  aPod({ ...fields, metadata: { name: 'web', uid: 'web' }, spec: { containers: [probed], ...fields.spec } });

async function aNode() {
  const node = await FakeNode.start();
  await node.addRunningPod(aProbedPod());
  const id = node.cache.get(uid)!.containers[0]!.id;
  return { node, id, ...driver(node, id) };
}

function driver(node: FakeNode, id: ContainerID) {
  const handlers = createProbeHandlers(node);
  const post = async (probe: ProbeResult['probe'], result: ProbeResult['result']) => {
    const uids = handlers.applyProbeResults([{ podUID: uid, containerID: id, probe, result }]);
    if (uids.size > 0) handlers.handleProbeSyncs(uids);
    await settle();
  };
  const shown = () => {
    const { containerStatuses, conditions } = node.statuses.get(uid) ?? {};
    const [app] = containerStatuses ?? [];
    const ready = conditions?.filter(({ type }) => type === 'Ready' || type === 'ContainersReady').map(({ status }) => status);
    return `${app?.started ? 'started' : 'starting'} ${app?.ready ? 'ready' : 'unready'} ${ready?.join(' ')}`;
  };
  return { post, shown };
}

test('a status shows each result at once, without a sync', async () => {
  const { node, post, shown } = await aNode();
  const expedited: PodUID[] = [];
  node.sink = { set: () => {}, expedite: (one) => void expedited.push(one) };
  assert.equal(shown(), 'starting unready False False');
  await post('startup', 'success');
  assert.equal(shown(), 'started unready False False');
  await post('readiness', 'success');
  assert.equal(shown(), 'started ready True True');
  await post('readiness', 'failure');
  assert.equal(shown(), 'started unready False False');
  await post('liveness', 'success');
  assert.deepEqual(expedited, [uid, uid, uid]);
  assert.deepEqual(node.tasks, []);
});

test('a failed probe syncs the pod at once with its verdict, before syncs of other pods', async () => {
  const { node, id, post } = await aNode();
  await post('startup', 'success');
  assert.equal(node.prioritized, 0);
  await post('liveness', 'failure');
  assert.deepEqual((node.task('sync').task as SyncPodTask).probes, {
    startup: new Map([[id, 'success']]),
    liveness: new Map([[id, 'failure']]),
  });
  assert.ok(node.prioritized > 0);
});

test('a failed probe prioritizes a sync that waits for its slot', async () => {
  const { node, post } = await aNode();
  node.slotGranted = new Promise(() => {});
  node.workers.wake([uid]);
  await settle();
  assert.equal(node.prioritized, 0);
  await post('liveness', 'failure');
  assert.equal(node.prioritized, 1);
});

test('a terminating pod shows its readiness, and its liveness causes no sync', async () => {
  const { node, post, shown } = await aNode();
  await post('startup', 'success');
  await post('readiness', 'success');
  node.workers.remove(aProbedPod());
  await settle();
  assert.equal(node.task('terminating').task.kind, 'terminating');
  assert.equal(shown(), 'started ready True True');
  await post('readiness', 'failure');
  assert.equal(shown(), 'started unready False False');
  await post('liveness', 'failure');
  assert.deepEqual(node.tasks.length, 1);
});

test('after a restart of the kubelet a container keeps what the API server shows, until its probe fails', async () => {
  const containerStatuses = [
    { name: 'app', containerID: 'containerd://web-0', ready: true, started: true, image: '', imageID: '', restartCount: 0 },
  ];
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const pod = aProbedPod({ status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', containerStatuses, conditions } });
  const node = await FakeNode.start();
  const id = 'web-0' as ContainerID;
  const status = aRuntimePodStatus({ podUID: uid, containers: [aRuntimeContainer({ id })] });
  node.runtime.set(uid, status);
  node.cache.apply({ relistedAtMs: 0, statuses: [status], removed: [], events: [] });
  await node.add(pod);
  const { post, shown } = driver(node, id);
  assert.equal(shown(), 'started ready True True');
  assert.equal(node.statuses.get(uid)?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime, '2026-01-01T00:00:00Z');
  await post('readiness', 'failure');
  assert.equal(shown(), 'started unready False False');
});

test('a container has not started while the sync that started it may run its postStart hook', async () => {
  const node = await FakeNode.start();
  const hooked = aContainer({ lifecycle: { postStart: exec } });
  const pod = aPod({ metadata: { name: 'web', uid: 'web' }, spec: { containers: [hooked] } });
  await node.add(pod);
  const status = aRuntimePodStatus({ podUID: uid, containers: [aRuntimeContainer({ id: 'web-0' as ContainerID })] });
  node.runtime.set(uid, status);
  node.cache.apply({ statuses: [{ ...status, observedAtMs: Infinity }], removed: [], events: [] });
  node.workers.refreshStatuses([uid]);
  const { shown } = driver(node, 'web-0' as ContainerID);
  assert.equal(shown(), 'starting unready False False');
  await node.completeTask(node.task('sync'));
  assert.equal(shown(), 'started ready True True');
  node.workers.wake([uid]);
  await settle();
  assert.equal(node.task('sync').task.kind, 'sync');
  node.workers.refreshStatuses([uid]);
  assert.equal(shown(), 'started ready True True');
});
