/** A pod that is rejected after it was pending is announced, since it has counted meanwhile: deferred resizes are tried again then. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { aPod } from '../../../support/pods/pods.ts';

const pods = [aPod({ metadata: { uid: 'a', name: 'a' } })];

async function aNode(refusal: { reason: string; message: string } | null) {
  const exclusiveAllocations = { isNeededBy: () => true, allocate: async () => refusal, restore: async () => undefined };
  const node = await FakeNode.start({ exclusiveAllocations });
  const rejected: string[] = [];
  node.podLifecycle.register({ name: 'test', rejected: (pod) => void rejected.push(pod.metadata.name) });
  return { handlers: node.handlers, rejected };
}

test('a pod whose devices could not be allocated is announced', async () => {
  const { handlers, rejected } = await aNode({ reason: 'UnexpectedAdmissionError', message: 'no device' });
  await handlers.handle({ op: 'ADD', source: 'api', pods });
  await settle();
  assert.deepEqual(rejected, ['a']);
});

test('it is not while that is decided, nor when it is admitted', async () => {
  const { handlers, rejected } = await aNode(null);
  const added = handlers.handle({ op: 'ADD', source: 'api', pods });
  assert.deepEqual(rejected, []);
  await added;
  await settle();
  assert.deepEqual(rejected, []);
});
