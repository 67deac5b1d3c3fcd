import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/pods/fake-node.ts';
import { aPod } from '../../../../support/pods/pods.ts';

const uid = (name: string) => name as PodUID;

test('a new pod is synced, and its status is current as soon as its task has ended', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  assert.equal(node.phase('web'), 'Pending');
  await node.completeTask(node.task('sync'));
  assert.equal(node.phase('web'), 'Running');
  assert.deepEqual(node.startedTasks, ['sync web']);
});

test('a pod has one task in flight; updates that arrive meanwhile are merged into the next task', async () => {
  const node = await FakeNode.start();
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

test('updates that arrive while a sync waits for its slot are part of that sync', async () => {
  const node = await FakeNode.start();
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

test('ignores the starts that arrive before the answer of the inspection after a sync', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  const ignoresStarts = (name: string) => node.workers.shouldIgnoreStarts(uid(name));
  assert.equal(ignoresStarts('web'), false);
  const answered = Promise.withResolvers<void>();
  node.beforeInspection = () => answered.promise;
  await node.completeTask(node.task('sync'));
  assert.equal(ignoresStarts('web'), true);
  assert.equal(ignoresStarts('other'), false);
  answered.resolve();
  await settle();
  assert.equal(ignoresStarts('web'), false);
});

test('does not ignore starts after an inspection that has failed', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  node.inspectError = new Error('no answer');
  await node.completeTask(node.task('sync'));
  assert.equal(node.workers.shouldIgnoreStarts(uid('web')), false);
});

test('does not ignore the starts of a pod with a sidecar: the next container follows the sidecar', async () => {
  const node = await FakeNode.start();
  const pod = aStaticPod('web');
  const initContainers = [{ name: 'proxy', image: 'proxy', restartPolicy: 'Always' }];
  await node.add({ ...pod, spec: { ...pod.spec, initContainers } });
  node.beforeInspection = () => new Promise(() => {});
  await node.completeTask(node.task('sync'));
  assert.equal(node.workers.shouldIgnoreStarts(uid('web')), false);
});

test('pods do not wait for each other', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('a'));
  await node.add(aStaticPod('b'));
  assert.deepEqual(node.startedTasks, ['sync a', 'sync b']);
});

test('a failed sync is retried after its back-off, and logged once', async () => {
  const node = await FakeNode.start();
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

test('the back-off of a task is exact, and is part of the next task', async () => {
  const node = await FakeNode.start();
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

test('a sync does not use a status from before the last change of the runtime', async () => {
  const node = await FakeNode.start();
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

test('close stops the tasks and starts no other; no pod is terminated', async () => {
  const node = await FakeNode.start();
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

test('wakeFailed retries failed tasks, but not container back-offs', async () => {
  const node = await FakeNode.start();
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

test('the sync in progress settles when the status of the sync is generated', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  let phase: string | undefined;
  void node.podStates.syncInProgress(uid('web'))?.then(() => (phase = node.phase('web')));
  await settle();
  assert.equal(phase, undefined);
  await node.completeTask(node.task('sync'));
  assert.equal(phase, 'Running');
  assert.equal(node.podStates.syncInProgress(uid('web')), undefined);
});

test('a sync after a failed one is a retry', async () => {
  const node = await FakeNode.start();
  await node.add(aStaticPod('web'));
  const isRetry = () => {
    const { task } = node.task('sync');
    return task.kind === 'sync' && task.isRetry;
  };
  assert.equal(isRetry(), false);
  await node.completeTask(node.task('sync'), { outcome: 'failed', failure: { reason: 'FailedCreatePodSandBox', message: 'no network' } });
  node.workers.wake([uid('web')]);
  await settle();
  assert.equal(isRetry(), true);
});
