import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodDispatcher } from '../../../../../src/main/pods/dispatch/index.ts';
import type { PodTask } from '../../../../../src/main/threads/task-channel.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aPod } from '../../../../support/pods/pods.ts';

const never = new AbortController().signal;
const podNamed = (name: string) => aPod({ metadata: { name, uid: name, annotations: { 'kubernetes.io/config.source': 'api' } } });
const syncOf = (name: string) => ({ kind: 'sync', podUID: name, pod: podNamed(name), status: null }) as unknown as PodTask;

/** A dispatcher with one start permit, and so two slots for new pods. */
function aDispatcher() {
  const clock = new FakeClock();
  const dispatcher = new PodDispatcher({ clock, cores: 1, bounds: { min: 1, max: 1 } });
  const granted: string[] = [];
  const request = (name: string) => void dispatcher.requestSyncSlot(podNamed(name), null).granted.then(() => granted.push(name));
  for (const name of ['a', 'b', 'c', 'd']) request(name);
  return { clock, dispatcher, granted };
}

test('the sandbox permit of a new pod lets the next new pod sync', async () => {
  const { dispatcher, granted } = aDispatcher();
  await settle();
  assert.deepEqual(granted, ['a', 'b']);
  assert.ok(dispatcher.tryAcquireStartPermit('sandbox', syncOf('a')));
  await settle();
  assert.deepEqual(granted, ['a', 'b', 'c']);
});

test('a new pod that waits for its sandbox permit keeps its slot', async () => {
  const { clock, dispatcher, granted } = aDispatcher();
  await settle();
  dispatcher.tryAcquireStartPermit('sandbox', syncOf('other'));
  for (const name of ['a', 'b']) void dispatcher.acquireStartPermit('sandbox', syncOf(name), never);
  // A slot counts for one second otherwise.
  await clock.advance(2_999);
  assert.deepEqual(granted, ['a', 'b']);
  // The other start stops counting now, and its permit goes to the first pod.
  await clock.advance(1);
  assert.deepEqual(granted, ['a', 'b', 'c']);
});
