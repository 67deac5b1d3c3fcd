import assert from 'node:assert/strict';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { test } from 'node:test';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { aPod } from '../../../support/pods/pods.ts';

test('many pods are added in several iterations of the event loop, the oldest pod first', async () => {
  let nowMs = 0;
  const node = await FakeNode.start();
  node.clock.monotonic = () => (nowMs += 3);
  const { handlers } = node;
  const pods = Array.from({ length: 6 }, (_, i) =>
    aPod({ metadata: { uid: `p${i}`, name: `p${i}`, creationTimestamp: `2026-01-01T00:00:0${9 - i}Z` } }),
  );
  const known = () => node.podManager.all().map(({ metadata }) => metadata.name);
  const added = handlers.handle({ op: 'ADD', source: 'api', pods });
  const atOnce = known().length;
  assert.ok(atOnce > 0 && atOnce < pods.length, `${atOnce} in the first iteration`);
  await nextIteration();
  assert.ok(known().length > atOnce);
  await added;
  assert.deepEqual(known(), ['p5', 'p4', 'p3', 'p2', 'p1', 'p0']);
});
