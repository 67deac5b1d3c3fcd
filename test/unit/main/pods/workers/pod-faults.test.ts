/** A pod whose handling throws, and a healthy pod: the exception affects only its own pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podListOf } from '../../../../support/server/pod-list.ts';
import { sourcePodList } from '../../../../../src/main/server/source-pod-list.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/pods/fake-node.ts';
import { anApiStatusCache } from '../../../../support/pods/pod-parts.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { aLogger } from '../../../../support/logger.ts';

const hostile = () => aStaticPod('hostile');
const healthy = () => aStaticPod('healthy');
const isHostile = (pod: Pod) => pod.metadata.uid === 'hostile';
const throwBoom = (): never => {
  throw new TypeError('boom');
};
const warnings = (node: FakeNode) =>
  node.events.filter(({ type }) => type === 'Warning').map(({ object, reason, message }) => `${object.name}: ${reason}: ${message}`);

test('a pod whose admission throws is rejected, and the next pod is admitted', async () => {
  const node = await FakeNode.start({ admitHandlers: [(pod) => (isHostile(pod) ? throwBoom() : null)] });
  const { handlers } = node;
  await handlers.add([hostile(), healthy()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync healthy']);
  const { phase, reason, message } = node.statuses.get('hostile' as PodUID)!;
  assert.deepEqual([phase, reason, message], ['Failed', 'UnexpectedAdmissionError', 'Pod was rejected: internal error in admission: boom']);
  assert.deepEqual(warnings(node), [
    'hostile: FailedSync: internal error in admission: boom',
    'hostile: UnexpectedAdmissionError: internal error in admission: boom',
  ]);
});

test('a running pod that makes an admit handler throw does not block other pods', async () => {
  const node = await FakeNode.start({ admitHandlers: [(_, active) => (active.some(isHostile) ? throwBoom() : null)] });
  node.allocationManager.setAllocatedResources(hostile());
  const { handlers } = node;
  await handlers.add([hostile(), healthy()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync hostile', 'sync healthy']);
});

test('a pod whose start throws starts again after a back-off that housekeeping does not shorten', async () => {
  let attempts = 0;
  const node = await FakeNode.start();
  const { handlers, runHousekeeping } = node;
  node.podLifecycle.register({
    name: 'hostile',
    admitted: (pod) => {
      if (!isHostile(pod)) return;
      attempts += 1;
      if (attempts < 3) throwBoom();
    },
  });
  await handlers.add([hostile(), healthy()]);
  await runHousekeeping();
  assert.deepEqual([attempts, node.startedTasks], [1, ['sync healthy']]);
  assert.deepEqual(warnings(node), ['hostile: FailedSync: internal error in starting the pod: boom']);
  await node.clock.advance(10_000);
  await runHousekeeping();
  assert.equal(attempts, 2);
  await node.clock.advance(19_000);
  await runHousekeeping();
  assert.equal(attempts, 2);
  await node.clock.advance(1000);
  await settle();
  assert.deepEqual([attempts, node.startedTasks], [3, ['sync healthy', 'sync hostile']]);
});

test('an update that throws is handled again with the newest pod', async () => {
  let throws = false;
  const handled: (string | undefined)[] = [];
  const node = await FakeNode.start();
  const { handlers } = node;
  const handle = (pod: Pod) => {
    if (throws && isHostile(pod)) throwBoom();
    handled.push(`${pod.metadata.name} ${pod.metadata.labels?.['version'] ?? '1'}`);
  };
  node.podLifecycle.register({ name: 'hostile', admitted: handle, changed: (_, pod) => handle(pod) });
  await handlers.add([hostile(), healthy()]);
  throws = true;
  const labelled = (pod: Pod, version: string) => ({ ...pod, metadata: { ...pod.metadata, labels: { version } } });
  handlers.update([labelled(hostile(), '2'), labelled(healthy(), '2')]);
  handlers.update([labelled(hostile(), '3')]);
  throws = false;
  await node.clock.advance(20_000);
  await settle();
  assert.deepEqual(handled, ['hostile 1', 'healthy 1', 'healthy 2', 'hostile 3']);
});

test('a pod that is removed during its back-off is not started again', async () => {
  let attempts = 0;
  const node = await FakeNode.start();
  const { handlers } = node;
  node.podLifecycle.register({
    name: 'hostile',
    admitted: () => {
      attempts += 1;
      throwBoom();
    },
  });
  await handlers.add([hostile()]);
  handlers.remove([hostile()]);
  await node.clock.advance(1_000_000);
  await settle();
  assert.equal(attempts, 1);
});

test('a pod whose status cannot be generated has the fault as its reason, and terminates', () => {
  const { logger, lines } = aLogger();
  const published: (string | undefined)[] = [];
  const statuses = anApiStatusCache({
    node: throwBoom,
    sink: {
      set: ({ status }) => void published.push(`${status.phase} ${status.reason} ${status.message}`),
      expedite: () => {},
    },
    logger,
  });
  statuses.regenerate(aPod(), null, { state: 'syncing', started: true });
  const ended = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;
  statuses.markFinished(aPod(), null, ended);
  assert.deepEqual(published, [
    'Pending FailedSync internal error in pod status: boom',
    'Failed FailedSync internal error in pod status: boom',
    'Failed FailedSync internal error in pod status: boom',
  ]);
  assert.ok(lines.some(({ msg, err, stack }) => msg === 'Contained a fault' && err === 'boom' && String(stack).includes('TypeError')));
});

test('a fault changes only the reason of a known status, and nothing of a final status', () => {
  const { logger } = aLogger();
  const statuses = anApiStatusCache({ node: throwBoom, logger });
  const running = aPod({ status: { phase: 'Running', podIP: '10.0.0.7' } });
  const { phase, podIP, reason } = statuses.regenerate(running, null, { state: 'syncing', started: true });
  assert.deepEqual([phase, podIP, reason], ['Running', '10.0.0.7', 'FailedSync']);
  const evicted = aPod({ metadata: { uid: 'evicted' }, status: { phase: 'Failed', reason: 'Evicted' } });
  assert.equal(statuses.regenerate(evicted, null, { state: 'syncing', started: true }).reason, 'Evicted');
});

test('other updates of a pod do not shorten the back-off of its start', async () => {
  let attempts = 0;
  const node = await FakeNode.start();
  const { handlers, runHousekeeping } = node;
  node.podLifecycle.register({
    name: 'hostile',
    admitted: () => {
      attempts += 1;
      throwBoom();
    },
  });
  await handlers.add([hostile()]);
  handlers.reconcile([hostile()]);
  await runHousekeeping();
  assert.equal(attempts, 1);
  await node.clock.advance(10_001);
  await settle();
  assert.equal(attempts, 2);
});

test('a status manager that throws does not prevent a status', () => {
  const { logger } = aLogger();
  const statuses = anApiStatusCache({
    node: () => ({ hostIPs: [], runtimeName: '' }),
    sink: { set: throwBoom, expedite: () => {} },
    logger,
  });
  assert.equal(statuses.regenerate(aPod(), null, { state: 'syncing', started: true }).phase, 'Pending');
});

test('a sync that throws in main has the fault in its status and runs again after a back-off', async () => {
  const node = await FakeNode.start();
  const { handlers } = node;
  let throws = true;
  node.podLifecycle.register({ name: 'hostile', syncing: (pod) => (throws && isHostile(pod) ? throwBoom() : undefined) });
  await handlers.add([hostile(), healthy()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync healthy']);
  const { reason, message } = node.statuses.get('hostile' as PodUID)!;
  assert.deepEqual([reason, message], ['FailedSync', 'boom']);
  assert.deepEqual(warnings(node), ['hostile: FailedSync: boom']);
  throws = false;
  await node.clock.advance(10_000);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync healthy', 'sync hostile']);
  assert.equal(node.statuses.get('hostile' as PodUID)?.reason, undefined);
});

test('the pod list omits a pod that cannot be serialized', () => {
  const circular = { ...hostile() } as Pod & { itself?: unknown };
  circular.itself = circular;
  const { logger } = aLogger();
  const pods = [circular, healthy()];
  const podManager = { all: () => pods, get: (uid: PodUID) => pods.find((pod) => podUID(pod) === uid) };
  const items = podListOf(sourcePodList(podManager, { get: () => undefined }), logger);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['healthy'],
  );
});
