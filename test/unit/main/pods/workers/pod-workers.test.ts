import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/fake-node.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const uid = (name: string) => name as PodUID;

async function aRunningPod(node: FakeNode, pod = aStaticPod('web')) {
  await node.add(pod);
  await node.completeTask(node.task('sync'));
  return pod;
}

test('a new pod is synced, and its status is fresh as soon as its task has ended', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  assert.equal(node.phase('web'), 'Pending');
  await node.completeTask(node.task('sync'));
  assert.equal(node.phase('web'), 'Running');
  assert.deepEqual(node.startedTasks, ['sync web']);
});

test('one pod has one task in flight; what arrives meanwhile is merged into the next', async () => {
  const node = new FakeNode();
  const pod = aStaticPod('web');
  await node.add(pod);
  for (const image of ['two', 'three']) {
    node.workers.update(aPod({ metadata: pod.metadata, spec: { containers: [{ name: 'app', image }] } }), 'update');
    node.workers.wake([uid('web')]);
  }
  await settle();
  assert.deepEqual(node.startedTasks, ['sync web']);
  await node.completeTask(node.task('sync'));
  assert.deepEqual(node.startedTasks, ['sync web', 'sync web']);
  const { task } = node.task('sync');
  assert.equal(task.kind === 'sync' && task.pod.spec.containers[0]?.image, 'three');
  await node.completeTask(node.task('sync'));
  assert.equal(node.tasks.length, 0);
});

test('what arrives while a sync stands in line is in that sync, and asks for no other', async () => {
  const node = new FakeNode();
  const pod = aStaticPod('web');
  const { promise, resolve } = Promise.withResolvers<void>();
  node.slotGranted = promise;
  await node.add(pod);
  node.workers.update(aPod({ metadata: pod.metadata, spec: { containers: [{ name: 'app', image: 'two' }] } }), 'update');
  node.workers.wake([uid('web')]);
  await settle();
  assert.deepEqual(node.startedTasks, []);
  resolve();
  await settle();
  const sync = node.task('sync');
  assert.equal(sync.task.kind === 'sync' && sync.task.pod.spec.containers[0]?.image, 'two');
  await node.completeTask(sync);
  assert.deepEqual(node.startedTasks, ['sync web']);
});

test('ignores the starts that the inspection after its own sync reports, before and after the answer', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  const answered = Promise.withResolvers<void>();
  node.beforeInspection = () => answered.promise;
  await node.completeTask(node.task('sync'));
  const sequence = node.inspectionSequences.at(-1)!;
  const ignoresStarts = (of: number) => node.workers.shouldIgnoreStarts({ podUID: uid('web'), sequence: of });
  assert.equal(ignoresStarts(sequence), true);
  assert.equal(ignoresStarts(sequence + 1), false);
  answered.resolve();
  await settle();
  assert.equal(ignoresStarts(sequence), true);
});

test('ignores no start before its first sync, of an earlier sync, or of a pod that is not known', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  const ignoresStarts = (name: string, sequence: number) => node.workers.shouldIgnoreStarts({ podUID: uid(name), sequence });
  assert.equal(ignoresStarts('web', 1), false);
  await node.completeTask(node.task('sync'));
  const first = node.inspectionSequences.at(-1)!;
  node.workers.wake([uid('web')]);
  await settle();
  await node.completeTask(node.task('sync'));
  assert.equal(ignoresStarts('web', first), false);
  assert.equal(ignoresStarts('web', node.inspectionSequences.at(-1)!), true);
  assert.equal(ignoresStarts('other', first), false);
});

test('ignores no start of a pod with a sidecar: the next container follows it', async () => {
  const node = new FakeNode();
  const pod = aStaticPod('web');
  const initContainers = [{ name: 'proxy', image: 'proxy', restartPolicy: 'Always' }];
  await node.add({ ...pod, spec: { ...pod.spec, initContainers } });
  await node.completeTask(node.task('sync'));
  const sequence = node.inspectionSequences.at(-1)!;
  assert.equal(node.workers.shouldIgnoreStarts({ podUID: uid('web'), sequence }), false);
});

test('pods do not wait for each other', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('a'));
  await node.add(aStaticPod('b'));
  assert.deepEqual(node.startedTasks, ['sync a', 'sync b']);
});

test('a pod that is removed goes through terminating, terminated and clean-up, and is forgotten', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node);
  await node.remove(pod);
  const { task } = node.task('terminating');
  assert.equal(task.kind === 'terminating' && task.gracePeriodSeconds, 30);
  await node.completeAllTasks();
  assert.deepEqual(node.finished, ['web']);
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['sync web', 'terminating web', 'terminated web', 'cleanUp web']);
  assert.deepEqual(node.forgotten, ['web']);
  assert.equal(node.workers.isKnown(uid('web')), false);
  assert.equal(node.statuses.get(uid('web')), undefined);
});

test('a sync in flight is stopped when the pod is to end, and the end begins when it has stopped', async () => {
  const node = new FakeNode();
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

test('a shorter grace period reaches the termination that is under way', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node);
  await node.remove(pod);
  const killed = node.workers.kill(uid('web'), { evicted: true, gracePeriodOverrideSeconds: 3 });
  await settle();
  assert.deepEqual(node.task('terminating').graceShrunkTo, [3]);
  await node.completeTask(node.task('terminating'));
  await killed;
});

test('who kills a pod that only the runtime knows waits for its end', async () => {
  const node = new FakeNode();
  const status = aRuntimePodStatus({ podUID: uid('web'), observedAtMs: 0, containers: [aRuntimeContainer()] });
  node.runtime.set(uid('web'), status);
  node.cache.applyInspection(uid('web'), status, 0);
  node.workers.terminateRuntimePod(status);
  await settle();
  let isOver = false;
  const killed = node.workers.kill(uid('web'), { evicted: true, gracePeriodOverrideSeconds: null }).then(() => (isOver = true));
  await settle();
  assert.equal(isOver, false);
  await node.completeTask(node.task('terminating'));
  await killed;
});

test('a container that still runs after the pod was killed fails the termination, which is tried again', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node);
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

test('a UID that is created again while it ends starts only after it was forgotten', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node);
  await node.remove(pod);
  await node.add(pod);
  await node.completeAllTasks();
  assert.deepEqual(
    node.startedTasks.filter((task) => task.startsWith('sync')),
    ['sync web'],
  );
  // Its logs' folder is written into again before a collection comes there.
  assert.equal(node.workers.shouldContentBeRemoved(uid('web')), false);
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, ['web']);
  await node.add(pod);
  assert.equal(node.startedTasks.at(-1), 'sync web');
});

test('a static pod of the same name waits until its predecessor has ended', async () => {
  const node = new FakeNode();
  const old = aStaticPod('old', 'web');
  await aRunningPod(node, old);
  await node.remove(old);
  await node.add(aStaticPod('new', 'web'));
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(node.startedTasks, ['sync old', 'terminating old', 'terminated old']);
  await node.completeTask(node.task('terminated'));
  assert.equal(node.startedTasks.at(-1), 'sync new');
});

table('whether a static pod of a name has not ended yet', (row) => {
  const until = async (kind: 'sync' | 'terminating' | 'terminated' | 'finished') => {
    const node = new FakeNode();
    const old = await aRunningPod(node, aStaticPod('old', 'web'));
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
      assert.equal(node.workers.isStaticPodEnding(name, wanted && uid(wanted)), want);
      assert.equal(node.workers.isStaticPodEnding('other_default', wanted && uid(wanted)), false);
    });
  }
});

test('of several that wait for the same name, one that is removed meanwhile does not hold up the next', async () => {
  const node = new FakeNode();
  const first = aStaticPod('first', 'web');
  const second = aStaticPod('second', 'web');
  await aRunningPod(node, first);
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

test('a pod that ran to its end is terminated without anyone asking, and stays as it ended', async () => {
  const node = new FakeNode();
  const pod = aPod({ metadata: { name: 'job', uid: 'job' }, spec: { restartPolicy: 'Never' } });
  await node.add(pod);
  await node.completeTask(node.task('sync'));
  node.runtime.set(uid('job'), aRuntimePodStatus({ podUID: uid('job'), name: 'job', containers: [anExitedContainer(0)] }));
  node.cache.applyInspection(uid('job'), { ...node.runtime.get(uid('job'))!, observedAtMs: 1e6 }, 1e6);
  node.workers.wake([uid('job')]);
  await settle();
  await node.completeAllTasks();
  assert.equal(node.phase('job'), 'Succeeded');
  await node.syncKnownPods();
  node.workers.wake([uid('job')]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync job', 'terminating job', 'terminated job']);
});

test('the end of a pod is told when each of its containers was seen to have ended, whatever becomes of its sandbox', async () => {
  const node = new FakeNode();
  const told: string[] = [];
  node.sink = {
    set: ({ status, couldHaveRunningContainers: mayRun }) => void told.push(`${status.phase} ${mayRun ? 'may run' : 'has ended'}`),
    expedite: () => {},
    forget: () => {},
  };
  const pod = aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } });
  await node.add(pod);
  await node.completeTask(node.task('sync'));
  await node.remove(pod);
  const terminating = node.task('terminating');
  told.length = 0;
  node.workers.containersEnded(uid('web'));
  assert.deepEqual([told, node.workers.hasEnded(uid('web'))], [[], false]);
  const status = aRuntimePodStatus({ podUID: uid('web'), containers: [anExitedContainer(0)] });
  node.runtime.set(uid('web'), status);
  node.cache.applyInspection(uid('web'), { ...status, observedAtMs: 1e6 }, 1e6);
  node.workers.refreshStatuses([uid('web')]);
  assert.deepEqual([told, node.workers.hasEnded(uid('web'))], [['Succeeded has ended'], true]);
  // That is the last word: a sandbox that could not be stopped changes nothing, and neither does its end.
  await node.completeTask(terminating, { outcome: 'failed', failure: { reason: 'FailedKillPod', message: 'the network is stuck' } });
  node.workers.wake([uid('web')]);
  await settle();
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(told, ['Succeeded has ended']);
});

test('a pod that never started is finished when its remains are removed, which an earlier kubelet may have left', async () => {
  const node = new FakeNode();
  const first = aStaticPod('first', 'web');
  const second = aStaticPod('second', 'web');
  await aRunningPod(node, first);
  await node.add(second);
  await node.remove(second);
  assert.deepEqual(node.finished, []);
  await node.completeAllTasks();
  assert.deepEqual(node.finished, ['second']);
  assert.deepEqual(node.startedTasks, ['sync first', 'terminated second']);
});

test('a pod that only the runtime knows is ended as its annotations say, and its remains are removed', async () => {
  const node = new FakeNode();
  const status = aRuntimePodStatus({ podUID: uid('lost'), name: 'lost', observedAtMs: 0, containers: [aRuntimeContainer()] });
  node.runtime.set(uid('lost'), status);
  node.cache.applyInspection(uid('lost'), status, 0);
  node.workers.terminateRuntimePod(status);
  await settle();
  const { task } = node.task('terminating');
  assert.ok(task.kind === 'terminating' && task.pod === null && task.gracePeriodSeconds === null);
  await node.completeAllTasks();
  await node.syncKnownPods();
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminating lost', 'cleanUp lost']);
});

test('a folder of a pod that nobody knows is removed, and the UID does not start meanwhile', async () => {
  const node = new FakeNode();
  node.workers.cleanUpUnknown(uid('web'));
  await settle();
  await node.add(aStaticPod('web'));
  assert.deepEqual(node.startedTasks, ['cleanUp web']);
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, ['web']);
});

test('a sync that fails is tried again after its back-off, and says so once in the log', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  await node.completeTask(node.task('sync'), { outcome: 'failed', failure: { reason: 'FailedMount', message: 'no such folder' } });
  assert.equal(node.tasks.length, 0);
  await node.clock.advance(9_999);
  assert.equal(node.tasks.length, 0);
  await node.clock.advance(1);
  assert.deepEqual(node.startedTasks, ['sync web', 'sync web']);
  const warnings = node.logs.lines.filter(({ level }) => level === 40);
  assert.deepEqual(
    warnings.map(({ reason, err }) => [reason, err]),
    [['FailedMount', 'no such folder']],
  );
});

test('a back-off that a task names wakes the pod on time, and is handed to the next task', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  const backoffs = [{ key: 'app', backoffMs: 10_000, lastUpdateMs: 5 }];
  const retryAtMs = node.clock.now() + 4321;
  await node.completeTask(node.task('sync'), {
    outcome: 'failed',
    failure: { reason: 'CrashLoopBackOff', message: 'x' },
    backoffs,
    retryAtMs,
  });
  await node.clock.advance(4320);
  assert.equal(node.tasks.length, 0);
  await node.clock.advance(1);
  const { task } = node.task('sync');
  assert.deepEqual(task.kind === 'sync' && task.backoffs, backoffs);
});

test('a sync does not begin on what was seen before the last task changed the runtime', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  node.inspectError = new Error('runtime is away');
  await node.completeTask(node.task('sync'));
  node.workers.wake([uid('web')]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync web']);
  assert.equal(node.events.at(-1)?.message, 'error determining status: runtime is away');
  node.inspectError = null;
  await node.clock.advance(10_000);
  const { task } = node.task('sync');
  assert.equal(task.kind === 'sync' && task.status?.containers.length, 1);
});

test('an ended pod whose volumes cannot be unmounted says so in an event, and is tried again', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node);
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

test('a kill that does not come to its end is reported, and goes on', async () => {
  const node = new FakeNode();
  await aRunningPod(node);
  const killed = node.workers.kill(uid('web'), {
    evicted: true,
    gracePeriodOverrideSeconds: 2,
    failed: { reason: 'Evicted', message: 'low on memory' },
  });
  const rejected = assert.rejects(killed, { reason: 'ExceededGracePeriod' });
  await node.clock.advance(10_000);
  await rejected;
  const { object, ...told } = node.events.at(-1)!;
  assert.equal(object.name, 'web');
  assert.deepEqual(told, {
    type: 'Warning',
    reason: 'ExceededGracePeriod',
    message: 'Container runtime did not kill the pod within specified grace period.',
  });
  await node.completeAllTasks();
  assert.equal(node.phase('web'), 'Failed');
  assert.equal(node.statuses.get(uid('web'))?.reason, 'Evicted');
});

test('when the kubelet stops, tasks are told to stop, nothing new begins, and no pod is ended', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('a'));
  const closed = node.workers.close();
  assert.equal(node.task('sync').stopped, true);
  await node.completeTask(node.task('sync'), { outcome: 'stopped' });
  await closed;
  await node.add(aStaticPod('b'));
  node.workers.wake([uid('a')]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync a']);
});

test('when the runtime is back, pods whose task failed do not wait for their back-off, and others are left alone', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('well'));
  await node.completeAllTasks();
  for (const [uid, reason] of [
    ['broken', 'CreatePodSandboxError'],
    ['crashing', 'CrashLoopBackOff'],
  ] as const) {
    await node.add(aStaticPod(uid));
    await node.completeTask(node.task('sync', uid), { outcome: 'failed', failure: { reason, message: 'no' }, changedRuntime: false });
  }
  assert.equal(node.failures, 1);
  node.startedTasks.length = 0;
  node.workers.wakeFailed();
  await settle();
  assert.deepEqual(node.startedTasks, ['sync broken']);
  await node.completeAllTasks();
  node.startedTasks.length = 0;
  node.workers.wakeFailed();
  await settle();
  assert.deepEqual(node.startedTasks, []);
});

/** A pod that never restarts, whose task has stopped its container to start it with another image. */
async function aPodUnderRestart(node: FakeNode) {
  const pod = aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } });
  await aRunningPod(node, pod);
  const running = node.runtime.get(uid('web'))!;
  node.workers.update(aPod({ ...pod, spec: { ...pod.spec, containers: [{ name: 'app', image: 'two' }] } }), 'update');
  await settle();
  assert.equal(node.workers.beginRestart(uid('web'), running.containers), true);
  const [container] = running.containers;
  const stopped = { ...running, containers: [anExitedContainer(0, { id: container!.id })] };
  node.runtime.set(uid('web'), stopped);
  node.cache.apply({ statuses: [{ ...stopped, observedAtMs: 1 }], gone: [], events: [] });
  await node.clock.advance(2);
  node.workers.refreshStatuses([uid('web')]);
  return { running, stopped };
}

const state = (node: FakeNode) => node.statuses.get(uid('web'))?.containerStatuses?.[0]?.state;

test('a container that its task restarts is not published as ended, and its next instance is', async () => {
  const node = new FakeNode();
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

test('a container that its task could not start again is published as ended', async () => {
  const node = new FakeNode();
  await aPodUnderRestart(node);
  await node.completeTask(node.task('sync'), { outcome: 'failed', failure: { reason: 'ErrImagePull', message: 'x' } });
  assert.equal(state(node)?.terminated?.exitCode, 0);
  assert.equal(node.phase('web'), 'Succeeded');
});

test('an end that the runtime has reported before the restart is not taken back', async () => {
  const node = new FakeNode();
  const pod = await aRunningPod(node, aPod({ metadata: { name: 'web', uid: 'web' }, spec: { restartPolicy: 'Never' } }));
  const { containers } = node.runtime.get(uid('web'))!;
  node.workers.update(aPod({ ...pod, spec: { ...pod.spec, containers: [{ name: 'app', image: 'two' }] } }), 'update');
  await settle();
  const ended = aRuntimePodStatus({ podUID: uid('web'), observedAtMs: 1, containers: [anExitedContainer(1, { id: containers[0]!.id })] });
  node.cache.apply({ statuses: [ended], gone: [], events: [] });
  node.workers.refreshStatuses([uid('web')]);
  assert.equal(node.workers.beginRestart(uid('web'), containers), false);
  assert.equal(state(node)?.terminated?.exitCode, 1);
});

test('a pod whose sync stands in a queue has its first status half a second after it was seen', async () => {
  const node = new FakeNode();
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
  const node = new FakeNode();
  node.slotGranted = new Promise(() => {});
  const seen = new Date(node.clock.now() + 3_600_000).toISOString();
  await node.add(aPod({ metadata: { name: 'web', uid: 'web', annotations: { 'kubernetes.io/config.seen': seen } } }));
  await node.clock.advance(500);
  assert.equal(node.phase('web'), 'Pending');
});

test('a pod that the API server has a status of gets no other one before its sync', async () => {
  const node = new FakeNode();
  node.slotGranted = new Promise(() => {});
  await node.add(aPod({ metadata: { name: 'web', uid: 'web' }, status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' } }));
  await node.clock.advance(60_000);
  assert.equal(node.phase('web'), undefined);
});

test('a failed task ends the delay of the status, after what it has found', async () => {
  const node = new FakeNode();
  const told: string[] = [];
  node.sink = {
    set: ({ status }) => void told.push(status.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
    expedite: () => void told.push('hurry'),
    forget: () => {},
  };
  await node.add(aStaticPod('web'));
  const waiting = { app: { reason: 'ErrImagePull', message: 'x' } };
  await node.completeTask(node.task('sync'), { outcome: 'failed', waiting, failure: { reason: 'ErrImagePull', message: 'x' } });
  assert.deepEqual(told, ['ContainerCreating', 'ErrImagePull', 'hurry']);
});

test('a pod that the runtime does not answer about has a status, also its first', async () => {
  const node = new FakeNode();
  const pod = aStaticPod('web');
  node.inspectError = new Error('no answer');
  node.workers.update(pod, 'create');
  const failed = aRuntimePodStatus({
    podUID: uid('web'),
    observedAtMs: 1,
    failure: { reason: 'ContainerStatusUnknown', message: 'no answer' },
  });
  node.cache.apply({ statuses: [failed], gone: [], events: [] });
  await settle();
  assert.equal(node.statuses.get(uid('web'))?.reason, 'ContainerStatusUnknown');
});

test('why a container cannot be started is known before its task ends', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  node.workers.addWaitingReason(uid('web'), 'app', { reason: 'ErrImagePull', message: 'x' });
  assert.equal(state(node)?.waiting?.reason, 'ErrImagePull');
});

test('the sync that is under way can be waited for, until its status is made', async () => {
  const node = new FakeNode();
  await node.add(aStaticPod('web'));
  let phase: string | undefined;
  void node.syncs.get(uid('web'))?.then(() => (phase = node.phase('web')));
  await settle();
  assert.equal(phase, undefined);
  await node.completeTask(node.task('sync'));
  assert.equal(phase, 'Running');
  assert.equal(node.syncs.get(uid('web')), undefined);
});
