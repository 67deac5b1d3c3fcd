import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { FakeNode } from '../../../support/fake-node.ts';
import { aHousehold } from '../../../support/node-with-handlers.ts';
import { aPod } from '../../../support/pods.ts';

test('many pods at once are added over several turns of the loop, the oldest first', async () => {
  let nowMs = 0;
  const { updates, node } = aHousehold(new FakeNode(), { clock: { monotonic: () => (nowMs += 3) } });
  const pods = Array.from({ length: 6 }, (_, i) =>
    aPod({ metadata: { uid: `p${i}`, name: `p${i}`, creationTimestamp: `2026-01-01T00:00:0${9 - i}Z` } }),
  );
  const known = () => node.podManager.all().map(({ metadata }) => metadata.name);
  const added = updates.handle({ op: 'ADD', source: 'api', pods });
  const atOnce = known().length;
  assert.ok(atOnce > 0 && atOnce < pods.length, `${atOnce} in the first turn`);
  await nextTurn();
  assert.ok(known().length > atOnce);
  await added;
  assert.deepEqual(known(), ['p5', 'p4', 'p3', 'p2', 'p1', 'p0']);
});
