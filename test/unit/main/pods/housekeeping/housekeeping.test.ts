import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { orphanPodsFound, orphanPodsLeft } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/pods/fake-node.ts';
import { aRuntimeContainer, aRuntimePodStatus, anExitedContainer, aSandbox } from '../../../../support/pods/pods.ts';

const uid = (name: string) => name as PodUID;

test('a pod that no source has is terminated and forgotten', async () => {
  const node = await FakeNode.start();
  const { handlers, runHousekeeping } = node;
  const pod = aStaticPod('web');
  void handlers.add([pod]);
  await settle();
  await node.completeAllTasks();
  node.podManager.remove(uid('web'));
  await runHousekeeping();
  await node.completeAllTasks();
  await runHousekeeping();
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, ['web']);
});

test('a desired pod without a worker is started', async () => {
  const node = await FakeNode.start();
  const { runHousekeeping } = node;
  node.podManager.set(aStaticPod('web'));
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, ['sync web']);
});

test('a rejected pod is not started by housekeeping', async () => {
  const node = await FakeNode.start();
  const { handlers, runHousekeeping } = node;
  node.rejection = { reason: 'OutOfpods', message: 'Node has no room' };
  void handlers.add([aStaticPod('web')]);
  node.rejection = null;
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, []);
  assert.equal(node.phase('web'), 'Failed');
  assert.equal(node.statuses.get(uid('web'))?.message, 'Pod was rejected: Node has no room');
  assert.deepEqual(
    node.events.map(({ reason }) => reason),
    ['OutOfpods'],
  );
});

test('a rejected pod whose manifest is removed is forgotten', async () => {
  const node = await FakeNode.start();
  node.rejection = { reason: 'OutOfpods', message: 'x' };
  void node.handlers.add([aStaticPod('web')]);
  node.handlers.remove([aStaticPod('web')]);
  await node.runHousekeeping();
  assert.equal(node.statuses.get(uid('web')), undefined);
});

test('a running pod that only the runtime knows is terminated; a stopped one is left to garbage collection', async () => {
  const node = await FakeNode.start();
  const { runHousekeeping } = node;
  const running = aRuntimePodStatus({ podUID: uid('runs'), observedAtMs: 0, containers: [aRuntimeContainer()] });
  const ended = aRuntimePodStatus({
    podUID: uid('ended'),
    observedAtMs: 0,
    containers: [anExitedContainer(0)],
    sandboxes: [aSandbox({ state: 'notReady' })],
  });
  node.cache.apply({ statuses: [running, ended], removed: [], events: [] });
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, ['terminating runs']);
});

test('the directory of an unknown pod is removed, that of a running or desired pod is not', async () => {
  const node = await FakeNode.start();
  const { runHousekeeping } = node;
  node.podDirectories = [uid('unknown'), uid('desired'), uid('runs')];
  node.podManager.set(aStaticPod('desired'));
  node.cache.apply({
    statuses: [aRuntimePodStatus({ podUID: uid('runs'), observedAtMs: 0, containers: [aRuntimeContainer()] })],
    removed: [],
    events: [],
  });
  await runHousekeeping();
  assert.deepEqual(
    node.startedTasks.filter((task) => task.startsWith('cleanUp')),
    ['cleanUp unknown'],
  );
});

test('a cgroup that appears is removed in the next round, unless its pod is wanted', async () => {
  const node = await FakeNode.start();
  const { housekeeping, runHousekeeping } = node;
  void node.handlers.add([aStaticPod('web')]);
  await settle();
  await node.completeAllTasks();
  await runHousekeeping();
  node.podCgroups = [uid('web'), uid('late')];
  await runHousekeeping();
  housekeeping.onPodCgroups([uid('web')]);
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, ['sync web']);
  housekeeping.onPodCgroups([uid('late')]);
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, ['sync web', 'cleanUp late']);
});

test('a sandbox and a cgroup that appear after the end of a pod that still exists are removed', async () => {
  const node = await FakeNode.start();
  const { handlers, housekeeping, runHousekeeping } = node;
  void handlers.add([aStaticPod('web')]);
  await settle();
  await node.completeAllTasks();
  void node.workers.kill(uid('web'), { evicted: false, gracePeriodOverrideSeconds: null });
  await settle();
  await node.completeAllTasks();
  await runHousekeeping();
  node.startedTasks.length = 0;
  housekeeping.onPodCgroups([uid('web')]);
  await settle();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminated web']);
  const late = aRuntimePodStatus({ podUID: uid('web'), name: 'web', containers: [] });
  node.runtime.set(uid('web'), late);
  await node.clock.advance(1000);
  node.cache.apply({ statuses: [{ ...late, observedAtMs: node.clock.monotonic() }], removed: [], events: [] });
  await runHousekeeping();
  await node.completeAllTasks();
  await runHousekeeping();
  assert.deepEqual(node.startedTasks, ['terminated web', 'terminating web', 'terminated web']);
});

test('what the runtime has started of a pod that is unknown or has ended is inspected, without the delay of starts', async () => {
  const node = await FakeNode.start();
  const { handlers, runHousekeeping } = node;
  void handlers.add([aStaticPod('runs'), aStaticPod('ended')]);
  await settle();
  await node.completeAllTasks();
  void node.workers.kill(uid('ended'), { evicted: false, gracePeriodOverrideSeconds: null });
  await settle();
  await node.completeAllTasks();
  const uninspected = [uid('runs'), uid('ended'), uid('unknown')];
  node.inspected = [];
  node.cache.apply({ relistedAtMs: node.clock.monotonic(), uninspected, statuses: [], removed: [], events: [] });
  await runHousekeeping();
  assert.deepEqual(node.inspected, ['ended', 'unknown']);
});

test('orphaned pod directories are counted, and those that could not be removed are counted separately', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const counted = () => [orphanPodsFound, orphanPodsLeft].map((metric) => Number(/ (\d+)$/m.exec(renderMetrics([segment], [metric]))?.[1]));
  const node = await FakeNode.start();
  const { runHousekeeping } = node;
  const runRound = async () => {
    await node.clock.advance(60_000);
    await runHousekeeping();
    return counted();
  };
  node.podDirectories = [uid('removed'), uid('failing')];
  assert.deepEqual(await runRound(), [2, 0]);
  await node.completeTask(node.task('cleanUp', 'removed'));
  node.podDirectories = [uid('failing'), uid('new')];
  assert.deepEqual(await runRound(), [2, 1]);
  await node.completeAllTasks();
  node.podDirectories = [];
  assert.deepEqual(await runRound(), [0, 0]);
});

test('many orphaned directories are removed a few per round', async () => {
  const node = await FakeNode.start();
  const { runHousekeeping } = node;
  node.podDirectories = Array.from({ length: 40 }, (_, index) => uid(`left-${index}`));
  await runHousekeeping();
  assert.equal(node.tasks.length, 16);
  await runHousekeeping();
  assert.equal(node.tasks.length, 32);
});

test('dead containers are collected every minute, and shortly after a pod was forgotten', async () => {
  const node = await FakeNode.start();
  const { collected, housekeeping, runHousekeeping } = node;
  await runHousekeeping();
  assert.equal(collected.length, 1);
  await node.clock.advance(30_000);
  await runHousekeeping();
  assert.equal(collected.length, 1);
  housekeeping.collectSoon();
  await node.clock.advance(1000);
  await runHousekeeping();
  assert.equal(collected.length, 2);
  await node.clock.advance(60_000);
  await runHousekeeping();
  assert.equal(collected.length, 3);
});

test('while a source has not reported, only limits are enforced; all are collected when the last one reports', async () => {
  const node = await FakeNode.start();
  const { collected, housekeeping, runHousekeeping } = node;
  housekeeping.runWithoutAllSources();
  assert.equal(collected.length, 0);
  for (const advanced of [30_000, 30_000, 30_000]) {
    await node.clock.advance(advanced);
    housekeeping.runWithoutAllSources();
    await settle();
  }
  await runHousekeeping();
  await runHousekeeping();
  assert.deepEqual(
    collected.map(({ allSourcesReady }) => allSourcesReady),
    [false, true],
  );
});

test('a failed container garbage collection records an event about the node and is retried', async () => {
  const node = await FakeNode.start();
  const { collected, runHousekeeping } = node;
  node.gcError = new Error('cannot read the folder of logs');
  await runHousekeeping();
  assert.deepEqual(node.events, [
    {
      object: { kind: 'Node', namespace: '', name: 'node-1', uid: 'node-1' },
      type: 'Warning',
      reason: 'ContainerGCFailed',
      message: 'cannot read the folder of logs',
    },
  ]);
  await node.clock.advance(60_000);
  await runHousekeeping();
  assert.equal(collected.length, 2);
});

test('the time of the last collection that removed containers is known', async () => {
  const node = await FakeNode.start();
  const { housekeeping, runHousekeeping } = node;
  await runHousekeeping();
  assert.equal(housekeeping.containersRemovedAtMs, null);
  node.removedContainers = 2;
  await node.clock.advance(60_000);
  await runHousekeeping();
  const removedAtMs = housekeeping.containersRemovedAtMs;
  assert.equal(Math.trunc(removedAtMs!), node.clock.monotonic());
  node.removedContainers = 0;
  await node.clock.advance(60_000);
  await housekeeping.deleteAllUnusedContainers();
  assert.equal(housekeeping.containersRemovedAtMs, removedAtMs);
});

test('all containers of a terminated and deleted pod may be collected', async () => {
  const node = await FakeNode.start();
  const { handlers, collected, runHousekeeping } = node;
  const pod = aStaticPod('removed');
  void handlers.add([pod, aStaticPod('kept')]);
  await settle();
  await node.completeTask(node.task('sync', 'removed'));
  handlers.remove([pod]);
  await settle();
  await node.completeTask(node.task('terminating', 'removed'));
  await runHousekeeping();
  assert.deepEqual(collected[0]?.knownPodUIDs.toSorted(), ['kept', 'removed']);
  assert.deepEqual(collected[0]?.removablePodUIDs, ['removed']);
});

test('when the disk is full, the containers of a pod that has ended go too, but not before its sources have reported', async () => {
  const node = await FakeNode.start();
  const { handlers, housekeeping, collected, runHousekeeping } = node;
  const pod = aStaticPod('ended');
  void handlers.add([pod, aStaticPod('running')]);
  await settle();
  for (const name of ['ended', 'running']) await node.completeTask(node.task('sync', name));
  await housekeeping.deleteAllUnusedContainers();
  assert.equal(collected[0]?.allSourcesReady, false);
  void node.workers.kill('ended' as PodUID, { evicted: false, gracePeriodOverrideSeconds: 0 });
  await settle();
  await node.completeTask(node.task('terminating', 'ended'));
  await runHousekeeping();
  await housekeeping.deleteAllUnusedContainers();
  const request = collected.at(-1)!;
  assert.deepEqual([request.allSourcesReady, request.removablePodUIDs, request.terminatedPodUIDs], [true, [], ['ended']]);
});
