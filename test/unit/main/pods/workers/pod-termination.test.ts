import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/pods/fake-node.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const uid = (name: string) => name as PodUID;

test('a removed pod is terminated, cleaned up and forgotten', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  const { task } = node.task('terminating');
  assert.equal(task.kind === 'terminating' && task.gracePeriodSeconds, 30);
  await node.completeAllTasks();
  assert.deepEqual(node.finished, ['web']);
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['sync web', 'terminating web', 'terminated web', 'cleanUp web']);
  assert.deepEqual(node.forgotten, ['web']);
  assert.equal(node.podStates.isKnown(uid('web')), false);
  assert.equal(node.statuses.get(uid('web')), undefined);
});

test('a static pod that returns when it has finished has a timeline of its own', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  await node.completeAllTasks();
  assert.equal(node.timelines.get(uid('web'))?.state, 'Finished');
  await node.add(pod);
  assert.equal(node.timelines.get(uid('web'))?.state, 'Starting');
});

test('a terminated pod stops its sync in flight, and the termination follows', async () => {
  const node = await FakeNode.start();
  const pod = aStaticPod('web');
  await node.add(pod);
  const sync = node.task('sync');
  await node.remove(pod);
  assert.equal(sync.stopped, true);
  assert.deepEqual(node.startedTasks, ['sync web']);
  node.runtime.set(uid('web'), aRuntimePodStatus({ podUID: uid('web') }));
  await node.completeTask(sync, { outcome: 'stopped' });
  assert.deepEqual(node.startedTasks, ['sync web', 'terminating web']);
});

test('the grace period reaches a sync in flight, which may be stopping a container', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  const sync = node.task('sync');
  const killed = node.workers.kill(uid('web'), { evicted: true, gracePeriodOverrideSeconds: 3 });
  await settle();
  assert.deepEqual([sync.stopped, sync.graceShrunkTo], [true, [3]]);
  await node.completeTask(sync, { outcome: 'stopped' });
  await killed;
});

test('a shorter grace period reaches the termination in progress', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  const killed = node.workers.kill(uid('web'), { evicted: true, gracePeriodOverrideSeconds: 3 });
  await settle();
  assert.deepEqual(node.task('terminating').graceShrunkTo, [3]);
  await node.completeTask(node.task('terminating'));
  await killed;
});

test('a kill of a pod that only the runtime knows waits for its termination', async () => {
  const node = await FakeNode.start();
  const status = aRuntimePodStatus({ podUID: uid('web'), observedAtMs: 0, containers: [aRuntimeContainer()] });
  node.runtime.set(uid('web'), status);
  node.cache.apply({ statuses: [status], removed: [], events: [] });
  node.workers.terminateRuntimePod(status);
  await settle();
  let isOver = false;
  const killed = node.workers.kill(uid('web'), { evicted: true, gracePeriodOverrideSeconds: null }).then(() => (isOver = true));
  await settle();
  assert.equal(isOver, false);
  await node.completeTask(node.task('terminating'));
  await killed;
});

test('a container that still runs after the termination fails the termination, which is retried', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  const survivor = aRuntimePodStatus({ podUID: uid('web'), containers: [aRuntimeContainer({ name: 'app' })] });
  const task = node.task('terminating');
  const end = node.completeTask(task);
  node.runtime.set(uid('web'), survivor);
  await end;
  assert.equal(node.events.at(-1)?.reason, 'FailedKillPod');
  assert.equal(node.tasks.length, 0);
  await node.clock.advance(10_000);
  await node.completeAllTasks();
  assert.deepEqual(node.finished, ['web']);
});

test('an unknown pod keeps its containers and logs until all sources have reported', async () => {
  const node = await FakeNode.start();
  node.sourcesReady = false;
  assert.equal(node.podStates.shouldContentBeRemoved(uid('web')), false);
  node.sourcesReady = true;
  assert.equal(node.podStates.shouldContentBeRemoved(uid('web')), true);
});

test('a UID that is recreated during its termination starts after the old pod is forgotten', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  await node.add(pod);
  await node.completeAllTasks();
  assert.deepEqual(
    node.startedTasks.filter((task) => task.startsWith('sync')),
    ['sync web'],
  );
  // The new pod may write to its log directory before a removal.
  assert.equal(node.podStates.shouldContentBeRemoved(uid('web')), false);
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, ['web']);
  await node.add(pod);
  assert.equal(node.startedTasks.at(-1), 'sync web');
});

test('a completed pod is terminated and keeps its phase', async () => {
  const node = await FakeNode.start();
  const pod = aPod({ metadata: { name: 'job', uid: 'job' }, spec: { restartPolicy: 'Never' } });
  await node.add(pod);
  await node.completeTask(node.task('sync'));
  node.runtime.set(uid('job'), aRuntimePodStatus({ podUID: uid('job'), name: 'job', containers: [anExitedContainer(0)] }));
  node.cache.apply({ statuses: [{ ...node.runtime.get(uid('job'))!, observedAtMs: 1e6 }], removed: [], events: [] });
  node.workers.wake([uid('job')]);
  await settle();
  await node.completeAllTasks();
  assert.equal(node.phase('job'), 'Succeeded');
  await node.syncKnownPods();
  node.workers.wake([uid('job')]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync job', 'terminating job', 'terminated job']);
});

test('the final status is published when every container has exited, whatever becomes of the sandbox', async () => {
  const node = await FakeNode.start();
  const published: string[] = [];
  node.sink = {
    set: ({ status, couldHaveRunningContainers: mayRun }) => void published.push(`${status.phase} ${mayRun ? 'may run' : 'has ended'}`),
    expedite: () => {},
  };
  const pod = aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } });
  await node.add(pod);
  await node.completeTask(node.task('sync'));
  await node.remove(pod);
  const terminating = node.task('terminating');
  published.length = 0;
  node.workers.containersEnded(uid('web'));
  assert.deepEqual([published, node.podStates.haveContainersEnded(uid('web'))], [[], false]);
  const status = aRuntimePodStatus({ podUID: uid('web'), containers: [anExitedContainer(0)] });
  node.runtime.set(uid('web'), status);
  node.cache.apply({ statuses: [{ ...status, observedAtMs: 1e6 }], removed: [], events: [] });
  node.workers.refreshStatuses([uid('web')]);
  assert.deepEqual([published, node.podStates.haveContainersEnded(uid('web'))], [['Succeeded has ended'], true]);
  assert.deepEqual(node.ended, ['web']);
  assert.equal(node.podStates.isStoppingSandboxes(uid('web')), true);
  // The status is final: neither the failure to stop the sandbox nor its end changes the status.
  await node.completeTask(terminating, { outcome: 'failed', failure: { reason: 'FailedKillPod', message: 'the network is stuck' } });
  node.workers.wake([uid('web')]);
  await settle();
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(published, ['Succeeded has ended']);
  assert.equal(node.podStates.isStoppingSandboxes(uid('web')), false);
});

test('a pod that never started is cleaned up, because an earlier kubelet may have started it', async () => {
  const node = await FakeNode.start();
  const first = aStaticPod('first', 'web');
  const second = aStaticPod('second', 'web');
  await node.addRunningPod(first);
  await node.add(second);
  await node.remove(second);
  assert.deepEqual(node.finished, []);
  await node.completeAllTasks();
  assert.deepEqual(node.finished, ['second']);
  assert.deepEqual(node.startedTasks, ['sync first', 'terminated second']);
});

test('a pod that only the runtime knows is terminated with the grace period of its annotations, and cleaned up', async () => {
  const node = await FakeNode.start();
  const status = aRuntimePodStatus({ podUID: uid('lost'), name: 'lost', observedAtMs: 0, containers: [aRuntimeContainer()] });
  node.runtime.set(uid('lost'), status);
  node.cache.apply({ statuses: [status], removed: [], events: [] });
  node.workers.terminateRuntimePod(status);
  await settle();
  const { task } = node.task('terminating');
  assert.ok(task.kind === 'terminating' && task.pod === null && task.gracePeriodSeconds === null);
  await node.completeAllTasks();
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminating lost', 'cleanUp lost']);
});

test('the directory of an unknown pod is removed, and the UID does not start meanwhile', async () => {
  const node = await FakeNode.start();
  node.workers.cleanUpUnknown(uid('web'));
  await settle();
  await node.add(aStaticPod('web'));
  assert.deepEqual(node.startedTasks, ['cleanUp web']);
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, ['web']);
});

test('a terminated pod whose volumes cannot be unmounted has an event, and is retried', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  await node.remove(pod);
  await node.completeTask(node.task('terminating'));
  const failure = { reason: 'FailedCleanUp', message: '/pods/web/volumes/x/y still mounted' };
  await node.completeTask(node.task('terminated'), { outcome: 'failed', failure });
  const { object, ...event } = node.events.at(-1)!;
  assert.equal(object.name, 'web');
  assert.deepEqual(event, { type: 'Warning', ...failure });
  await node.clock.advance(10_000);
  await node.completeTask(node.task('terminated'));
  assert.deepEqual(node.startedTasks, ['sync web', 'terminating web', 'terminated web', 'terminated web']);
});

test('a kill that exceeds its time rejects, and the termination continues', async () => {
  const node = await FakeNode.start();
  await node.addRunningPod();
  const killed = node.workers.kill(uid('web'), {
    evicted: true,
    gracePeriodOverrideSeconds: 2,
    failed: { reason: 'Evicted', message: 'low on memory' },
  });
  const rejected = assert.rejects(killed, { reason: 'ExceededGracePeriod' });
  await node.clock.advance(10_000);
  await rejected;
  const { object, ...event } = node.events.at(-1)!;
  assert.equal(object.name, 'web');
  assert.deepEqual(event, {
    type: 'Warning',
    reason: 'ExceededGracePeriod',
    message: 'Container runtime did not kill the pod within specified grace period.',
  });
  await node.completeAllTasks();
  assert.equal(node.phase('web'), 'Failed');
  assert.equal(node.statuses.get(uid('web'))?.reason, 'Evicted');
});

test('a static pod waits until its predecessor of the same name has finished', async () => {
  const node = await FakeNode.start();
  const old = aStaticPod('old', 'web');
  await node.addRunningPod(old);
  await node.remove(old);
  await node.add(aStaticPod('new', 'web'));
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(node.startedTasks, ['sync old', 'terminating old', 'terminated old']);
  await node.completeTask(node.task('terminated'));
  assert.equal(node.startedTasks.at(-1), 'sync new');
});

table('isStaticPodEnding', (row) => {
  const until = async (kind: 'sync' | 'terminating' | 'terminated' | 'finished') => {
    const node = await FakeNode.start();
    const old = await node.addRunningPod(aStaticPod('old', 'web'));
    if (kind === 'sync') return node;
    await node.remove(old);
    if (kind === 'terminating') return node;
    await node.completeTask(node.task('terminating'));
    if (kind === 'finished') await node.completeTask(node.task('terminated'));
    return node;
  };
  const name = 'web_default';
  const rows = [
    { state: 'sync', wanted: 'old', want: false },
    { state: 'sync', wanted: 'new', want: true },
    { state: 'sync', wanted: undefined, want: true },
    { state: 'terminating', wanted: 'old', want: true },
    { state: 'terminating', wanted: 'new', want: true },
    { state: 'terminated', wanted: 'new', want: true },
    { state: 'terminated', wanted: undefined, want: true },
    { state: 'finished', wanted: 'new', want: false },
    { state: 'finished', wanted: 'old', want: false },
    { state: 'finished', wanted: undefined, want: false },
  ] as const;
  for (const { state, wanted, want } of rows) {
    row(`old is ${state}, ${wanted} is wanted: ${want}`, async () => {
      const node = await until(state);
      assert.equal(node.podStates.isStaticPodEnding(name, wanted && uid(wanted)), want);
      assert.equal(node.podStates.isStaticPodEnding('other_default', wanted && uid(wanted)), false);
    });
  }
});

test('a removed static pod does not block the next static pod of the same name', async () => {
  const node = await FakeNode.start();
  const first = aStaticPod('first', 'web');
  const second = aStaticPod('second', 'web');
  await node.addRunningPod(first);
  await node.add(second);
  await node.add(aStaticPod('third', 'web'));
  await node.remove(second);
  await node.remove(first);
  await node.completeAllTasks();
  assert.deepEqual(
    node.startedTasks.filter((task) => task.startsWith('sync')),
    ['sync first', 'sync third'],
  );
  assert.deepEqual(node.finished, ['second', 'first']);
});

test('a pod that has ended before the kubelet starts is cleaned up once', async () => {
  const node = await FakeNode.start();
  await node.add(aPod({ metadata: { name: 'web', uid: 'web' }, status: { phase: 'Failed' } }));
  await node.completeAllTasks();
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual([node.startedTasks, node.forgotten], [['terminated web'], []]);
});

test('a sandbox that the runtime makes of a finished pod is terminated, and the pod is cleaned up again', async () => {
  const node = await FakeNode.start();
  const pod = await node.addRunningPod();
  void node.workers.kill(uid('web'), { evicted: false, gracePeriodOverrideSeconds: null });
  await settle();
  node.workers.removeLeftovers(uid('web'));
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks.splice(0), ['sync web', 'terminating web', 'terminated web']);
  const late = aRuntimePodStatus({ podUID: uid('web'), name: 'web', containers: [] });
  node.runtime.set(uid('web'), late);
  await node.clock.advance(1000);
  node.cache.apply({ statuses: [{ ...late, observedAtMs: node.clock.monotonic() }], removed: [], events: [] });
  node.workers.removeLeftovers(uid('web'));
  await settle();
  await node.remove(pod);
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminating web', 'terminated web', 'cleanUp web']);
});

test('leftovers that cannot be removed are tried again after a back-off, however often they are found', async () => {
  const node = await FakeNode.start();
  await node.addRunningPod();
  void node.workers.kill(uid('web'), { evicted: false, gracePeriodOverrideSeconds: null });
  await settle();
  await node.completeAllTasks();
  node.startedTasks.length = 0;
  node.workers.removeLeftovers(uid('web'));
  await settle();
  const failure = { reason: 'FailedCleanUp', message: 'cannot remove the cgroup' };
  await node.completeTask(node.task('terminated'), { outcome: 'failed', failure });
  node.workers.removeLeftovers(uid('web'));
  await settle();
  assert.deepEqual(node.startedTasks, ['terminated web']);
  await node.clock.advance(10_000);
  await settle();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminated web', 'terminated web']);
});
