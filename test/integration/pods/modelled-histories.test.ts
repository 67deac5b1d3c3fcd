/**
 * Random histories of pods on a modelled node (test/support/pod-model/): the real parts of main, of the pleg and of the sync pool's tasks in one thread,
 * with a clock of its own. A thousand times as many histories as on the bundle (test/integration/kubelet/pod-histories.test.ts), and fast-check
 * shrinks those that fail.
 *
 * `FUZZ_SEED` selects other histories, `MODEL_HISTORIES` their number.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import { describeHistory } from '../../support/pod-histories/pod-history.ts';
import { shapes } from '../../support/pod-histories/pod-shapes.ts';
import { modelOperations, type ModelOperation } from '../../support/pod-model/model-operations.ts';
import { runHistory } from '../../support/pod-model/run-history.ts';

const histories = Number(process.env['MODEL_HISTORIES'] ?? 100);
const operationsPerHistory = 100;
const [seed = 0] = fuzzSeeds();

/** Histories that have found a bug. */
const foundBugs: readonly { readonly name: string; readonly operations: readonly ModelOperation[]; readonly useEvents: boolean }[] = [
  {
    name: 'a container that ends while a restarted kubelet does not know its pod yet keeps its instance and its log',
    operations: [
      { type: 'create', slot: 1, shape: 2, policy: 'OnFailure', graceSeconds: 5 },
      { type: 'wait', ms: 1000 },
      { type: 'restartKubelet', signal: 'SIGKILL', downMs: 3000 },
      { type: 'watchDown', ms: 20_000 },
      { type: 'wait', ms: 60 },
      { type: 'exitSandbox', pick: 97 },
    ],
    useEvents: false,
  },
];

async function check(operations: readonly ModelOperation[], useEvents: boolean): Promise<number> {
  const { history, violations } = await runHistory(operations, useEvents);
  const text = describeHistory(history, (uid) => violations.some((line) => line.includes(uid)));
  assert.deepEqual(violations, [], `${violations.join('\n')}\n${text}`);
  return history.filter(({ type }) => type === 'started').length;
}

for (const { name, operations, useEvents } of foundBugs) test(name, async () => void (await check(operations, useEvents)));

test('pods keep their invariants in every history of a modelled node', async (t: TestContext) => {
  let starts = 0;
  let runs = 0;
  const property = fc.asyncProperty(modelOperations(shapes.length, operationsPerHistory), fc.boolean(), async (operations, useEvents) => {
    runs += 1;
    starts += await check(operations, useEvents);
  });
  await fc.assert(property, { numRuns: histories, seed, endOnFailure: process.env['MODEL_SHRINK'] === '0' });
  t.diagnostic(`${runs} histories, ${starts} starts`);
  assert.ok(starts > 2 * runs, `only ${starts} starts in ${runs} histories`);
});
