/** What a rejected pod held while it was decided is free for resizes that wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { aNodeWithHandlers } from '../../../support/pods/node-with-handlers.ts';
import { aPod } from '../../../support/pods/pods.ts';

const pods = [aPod({ metadata: { uid: 'a', name: 'a' } })];

function aNode(refusal: { reason: string; message: string } | null) {
  const triggers: string[] = [];
  const resizes = { onAdded: () => {}, onUpdated: () => false, retry: (trigger: string) => void triggers.push(trigger) };
  const exclusiveAllocations = { isNeededBy: () => true, allocate: async () => refusal };
  return { triggers, ...aNodeWithHandlers(new FakeNode(), { resizes, exclusiveAllocations }) };
}

test('deferred resizes are tried again when a pod is rejected that has counted while its devices were allocated', async () => {
  const { handlers, triggers } = aNode({ reason: 'UnexpectedAdmissionError', message: 'no device' });
  await handlers.handle({ op: 'ADD', source: 'api', pods });
  await settle();
  assert.deepEqual(triggers, ['pods_removed']);
});

test('they are not while it is decided, nor when it is admitted', async () => {
  const { handlers, triggers } = aNode(null);
  const added = handlers.handle({ op: 'ADD', source: 'api', pods });
  assert.deepEqual(triggers, []);
  await added;
  await settle();
  assert.deepEqual(triggers, []);
});
