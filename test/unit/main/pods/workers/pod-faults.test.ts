/** A pod whose handling throws, beside one that is well: a thrower costs only its own pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiStatusCache } from '../../../../../src/main/pods/api-status/index.ts';
import { podListJson } from '../../../../../src/main/server/pod-list.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aStaticPod, FakeNode } from '../../../../support/fake-node.ts';
import { aNodeWithHandlers } from '../../../../support/node-with-handlers.ts';
import { aPod } from '../../../../support/pods.ts';
import { aLogger } from '../../../../support/logger.ts';

const hostile = () => aStaticPod('hostile');
const canary = () => aStaticPod('canary');
const isHostile = (pod: Pod) => pod.metadata.uid === 'hostile';
const boom = (): never => {
  throw new TypeError('boom');
};
const warnings = (node: FakeNode) =>
  node.events.filter(({ type }) => type === 'Warning').map(({ object, reason, message }) => `${object.name}: ${reason}: ${message}`);

test('a pod whose admission throws is rejected, and the next is admitted', async () => {
  const { node, handlers } = aNodeWithHandlers(new FakeNode(), { admitHandlers: [(pod) => (isHostile(pod) ? boom() : null)] });
  await handlers.add([hostile(), canary()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync canary']);
  const { phase, reason, message } = node.statuses.get('hostile' as PodUID)!;
  assert.deepEqual([phase, reason, message], ['Failed', 'UnexpectedAdmissionError', 'Pod was rejected: internal error in admission: boom']);
  assert.deepEqual(warnings(node), [
    'hostile: FailedSync: internal error in admission: boom',
    'hostile: UnexpectedAdmissionError: internal error in admission: boom',
  ]);
});

test('a running pod that can not be weighed keeps no other pod out', async () => {
  const node = new FakeNode();
  const admitted = new Set(['hostile']);
  const { handlers } = aNodeWithHandlers(node, {
    admitHandlers: [(_, active) => (active.some(isHostile) ? boom() : null)],
    allocationManager: {
      isAdmitted: (uid) => admitted.has(uid),
      setAllocatedResources: () => {},
      updatePodFromAllocation: (pod) => pod,
      removePod: () => {},
    },
  });
  await handlers.add([hostile(), canary()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync hostile', 'sync canary']);
});

test('a pod whose start throws is tried again after a back-off, and housekeeping does not shorten that', async () => {
  let tries = 0;
  const { node, handlers, runHousekeeping } = aNodeWithHandlers(new FakeNode(), {
    onAdmitted: (pod) => {
      if (!isHostile(pod)) return;
      tries += 1;
      if (tries < 3) boom();
    },
  });
  await handlers.add([hostile(), canary()]);
  await runHousekeeping();
  assert.deepEqual([tries, node.startedTasks], [1, ['sync canary']]);
  assert.deepEqual(warnings(node), ['hostile: FailedSync: internal error in starting the pod: boom']);
  await node.clock.advance(10_000);
  await runHousekeeping();
  assert.equal(tries, 2);
  await node.clock.advance(19_000);
  await runHousekeeping();
  assert.equal(tries, 2);
  await node.clock.advance(1000);
  await settle();
  assert.deepEqual([tries, node.startedTasks], [3, ['sync canary', 'sync hostile']]);
});

test('an update that throws is delivered again as the pod is wanted then', async () => {
  let throws = false;
  const seen: (string | undefined)[] = [];
  const { node, handlers } = aNodeWithHandlers(new FakeNode(), {
    onAdmitted: (pod) => {
      if (throws && isHostile(pod)) boom();
      seen.push(`${pod.metadata.name} ${pod.metadata.labels?.['version'] ?? '1'}`);
    },
  });
  await handlers.add([hostile(), canary()]);
  throws = true;
  const labelled = (pod: Pod, version: string) => ({ ...pod, metadata: { ...pod.metadata, labels: { version } } });
  handlers.update([labelled(hostile(), '2'), labelled(canary(), '2')]);
  handlers.update([labelled(hostile(), '3')]);
  throws = false;
  await node.clock.advance(20_000);
  await settle();
  assert.deepEqual(seen, ['hostile 1', 'canary 1', 'canary 2', 'hostile 3']);
});

test('a pod that is removed while it is backed off is not tried again', async () => {
  let tries = 0;
  const { node, handlers } = aNodeWithHandlers(new FakeNode(), {
    onAdmitted: () => {
      tries += 1;
      boom();
    },
  });
  await handlers.add([hostile()]);
  handlers.remove([hostile()]);
  await node.clock.advance(1_000_000);
  await settle();
  assert.equal(tries, 1);
});

test('a pod whose status can not be made says so, lives on, and ends', () => {
  const { logger, lines } = aLogger();
  const told: (string | undefined)[] = [];
  const statuses = new ApiStatusCache({
    node: boom,
    sink: {
      set: ({ status }) => void told.push(`${status.phase} ${status.reason} ${status.message}`),
      expedite: () => {},
      forget: () => {},
    },
    clock: new FakeNode().clock,
    logger,
  });
  statuses.regenerate(aPod(), null, { state: 'syncing', started: true });
  const ended = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;
  statuses.markFinished(aPod(), null, ended);
  assert.deepEqual(told, [
    'Pending FailedSync internal error in pod status: boom',
    'Failed FailedSync internal error in pod status: boom',
    'Failed FailedSync internal error in pod status: boom',
  ]);
  assert.ok(lines.some(({ msg, err, stack }) => msg === 'Contained a fault' && err === 'boom' && String(stack).includes('TypeError')));
});

test('a pod of which a status is known keeps the rest of it beside its fault, and a pod that has ended keeps its reason', () => {
  const { logger } = aLogger();
  const statuses = new ApiStatusCache({ node: boom, clock: new FakeNode().clock, logger });
  const running = aPod({ status: { phase: 'Running', podIP: '10.0.0.7' } });
  const { phase, podIP, reason } = statuses.regenerate(running, null, { state: 'syncing', started: true });
  assert.deepEqual([phase, podIP, reason], ['Running', '10.0.0.7', 'FailedSync']);
  const evicted = aPod({ metadata: { uid: 'evicted' }, status: { phase: 'Failed', reason: 'Evicted' } });
  assert.equal(statuses.regenerate(evicted, null, { state: 'syncing', started: true }).reason, 'Evicted');
});

test('other news of a pod does not shorten the back-off of its start', async () => {
  let tries = 0;
  const { node, handlers, runHousekeeping } = aNodeWithHandlers(new FakeNode(), {
    onAdmitted: () => {
      tries += 1;
      boom();
    },
  });
  await handlers.add([hostile()]);
  handlers.reconcile([hostile()]);
  await runHousekeeping();
  assert.equal(tries, 1);
  node.clock.advance(10_000);
  await settle();
  assert.equal(tries, 2);
});

test('a status manager that throws keeps no pod from its status', () => {
  const { logger } = aLogger();
  const node = new FakeNode();
  const statuses = new ApiStatusCache({
    node: () => ({ hostIPs: [], runtimeName: '' }),
    sink: { set: boom, expedite: () => {}, forget: () => {} },
    clock: node.clock,
    logger,
  });
  assert.equal(statuses.regenerate(aPod(), null, { state: 'syncing', started: true }).phase, 'Pending');
});

test('a sync that throws in main shows the fault in the status and is tried again after its back-off', async () => {
  const node = new FakeNode();
  const { handlers } = aNodeWithHandlers(node);
  const original = node.volumes.areAllMounted.bind(node.volumes);
  let throws = true;
  node.volumes.areAllMounted = (uid) => (throws && uid === 'hostile' ? boom() : original(uid));
  await handlers.add([hostile(), canary()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync canary']);
  const { reason, message } = node.statuses.get('hostile' as PodUID)!;
  assert.deepEqual([reason, message], ['FailedSync', 'boom']);
  assert.deepEqual(warnings(node), ['hostile: FailedSync: boom']);
  throws = false;
  await node.clock.advance(10_000);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync canary', 'sync hostile']);
  assert.equal(node.statuses.get('hostile' as PodUID)?.reason, undefined);
});

test('the list of pods leaves out a pod that can not be written', () => {
  const circular = { ...hostile() } as Pod & { itself?: unknown };
  circular.itself = circular;
  const { logger } = aLogger();
  const text = podListJson({ all: () => [circular, canary()] }, { get: () => undefined }, logger);
  const { kind, items } = JSON.parse(text) as { kind: string; items: Pod[] };
  assert.deepEqual([kind, items.map(({ metadata }) => metadata.name)], ['PodList', ['canary']]);
});
