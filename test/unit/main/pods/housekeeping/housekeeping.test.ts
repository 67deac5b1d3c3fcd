import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { orphanPodsFound, orphanPodsLeft } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod } from '../../../../support/fake-node.ts';
import { aHousehold } from '../../../../support/node-with-handlers.ts';
import { aRuntimeContainer, aRuntimePodStatus, anExitedContainer, aSandbox } from '../../../../support/pods.ts';

const uid = (name: string) => name as PodUID;

test('a pod that no source wants any more is ended and forgotten', async () => {
  const { node, updates, round } = aHousehold();
  const pod = aStaticPod('web');
  void updates.add([pod]);
  await settle();
  await node.endAll();
  node.podManager.remove(uid('web'));
  await round();
  await node.endAll();
  await round();
  await node.endAll();
  assert.deepEqual(node.forgotten, ['web']);
});

test('a pod that is wanted and that no worker knows is started', async () => {
  const { node, round } = aHousehold();
  node.podManager.set(aStaticPod('web'));
  await round();
  assert.deepEqual(node.begun, ['sync web']);
});

test('a pod that was rejected is not started, not even by housekeeping', async () => {
  const household = aHousehold();
  const { node, updates, round } = household;
  household.refusal = { reason: 'OutOfpods', message: 'Node has no room' };
  void updates.add([aStaticPod('web')]);
  household.refusal = null;
  await round();
  assert.deepEqual(node.begun, []);
  assert.equal(node.phase('web'), 'Failed');
  assert.equal(node.statuses.get(uid('web'))?.message, 'Pod was rejected: Node has no room');
  assert.deepEqual(
    node.events.map(({ reason }) => reason),
    ['OutOfpods'],
  );
});

test('a rejected pod whose manifest goes is forgotten', async () => {
  const household = aHousehold();
  household.refusal = { reason: 'OutOfpods', message: 'x' };
  void household.updates.add([aStaticPod('web')]);
  household.updates.remove([aStaticPod('web')]);
  await household.round();
  assert.equal(household.node.statuses.get(uid('web')), undefined);
});

test('a pod that only the runtime knows is ended; one that has ended there is left to garbage collection', async () => {
  const { node, round } = aHousehold();
  const running = aRuntimePodStatus({ podUID: uid('runs'), observedAtMs: 0, containers: [aRuntimeContainer()] });
  const ended = aRuntimePodStatus({
    podUID: uid('ended'),
    observedAtMs: 0,
    containers: [anExitedContainer(0)],
    sandboxes: [aSandbox({ state: 'notReady' })],
  });
  node.cache.apply({ statuses: [running, ended], gone: [], events: [] });
  await round();
  assert.deepEqual(node.begun, ['terminating runs']);
});

test('the folder of a pod that nobody knows is removed, that of a pod that runs or is wanted is not', async () => {
  const household = aHousehold();
  const { node, round } = household;
  household.directories = [uid('unknown'), uid('wanted'), uid('runs')];
  node.podManager.set(aStaticPod('wanted'));
  node.cache.apply({
    statuses: [aRuntimePodStatus({ podUID: uid('runs'), observedAtMs: 0, containers: [aRuntimeContainer()] })],
    gone: [],
    events: [],
  });
  await round();
  assert.deepEqual(
    node.begun.filter((task) => task.startsWith('cleanUp')),
    ['cleanUp unknown'],
  );
});

test('folders of pods that nobody knows are counted with each look, and those that an earlier look could not remove', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const counted = () => [orphanPodsFound, orphanPodsLeft].map((metric) => Number(/ (\d+)$/m.exec(renderMetrics([segment], [metric]))?.[1]));
  const household = aHousehold();
  const { node, round } = household;
  const look = async () => {
    await node.clock.advance(60_000);
    await round();
    return counted();
  };
  household.directories = [uid('goes'), uid('stays')];
  assert.deepEqual(await look(), [2, 0]);
  await node.end(node.task('cleanUp', 'goes'));
  household.directories = [uid('stays'), uid('new')];
  assert.deepEqual(await look(), [2, 1]);
  await node.endAll();
  household.directories = [];
  assert.deepEqual(await look(), [0, 0]);
});

test('a node full of leftovers is cleaned up a few at a time', async () => {
  const household = aHousehold();
  const { node, round } = household;
  household.directories = Array.from({ length: 40 }, (_, index) => uid(`left-${index}`));
  await round();
  assert.equal(node.tasks.length, 16);
  await round();
  assert.equal(node.tasks.length, 32);
});

test('dead containers are collected each minute, and soon after a pod was forgotten', async () => {
  const { node, collected, housekeeping, round } = aHousehold();
  await round();
  assert.equal(collected.length, 1);
  await node.clock.advance(30_000);
  await round();
  assert.equal(collected.length, 1);
  housekeeping.collectSoon();
  await node.clock.advance(1000);
  await round();
  assert.equal(collected.length, 2);
  await node.clock.advance(60_000);
  await round();
  assert.equal(collected.length, 3);
});

test('a collection of dead containers that fails is an event about the node, and comes again', async () => {
  const household = aHousehold();
  const { node, collected, round } = household;
  household.gcError = new Error('cannot read the folder of logs');
  await round();
  assert.deepEqual(node.events, [
    {
      object: { kind: 'Node', namespace: '', name: 'node-1', uid: 'node-1' },
      type: 'Warning',
      reason: 'ContainerGCFailed',
      message: 'cannot read the folder of logs',
    },
  ]);
  await node.clock.advance(60_000);
  await round();
  assert.equal(collected.length, 2);
});

test('what an ended and deleted pod left may all be collected, what another left may not', async () => {
  const { node, updates, collected, round } = aHousehold();
  const pod = aStaticPod('goes');
  void updates.add([pod, aStaticPod('stays')]);
  await settle();
  await node.end(node.task('sync', 'goes'));
  updates.remove([pod]);
  await settle();
  await node.end(node.task('terminating', 'goes'));
  await round();
  assert.deepEqual(collected[0]?.knownPodUIDs.toSorted(), ['goes', 'stays']);
  assert.deepEqual(collected[0]?.removablePodUIDs, ['goes']);
});
