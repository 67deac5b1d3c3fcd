/**
 * Random histories of pods on a modelled node (test/support/pod-model/): the real parts of main, of the pleg and of the sync pool's tasks in one thread,
 * with a clock of its own. A thousand times as many histories as on the bundle (test/integration/kubelet/pod-histories.test.ts), and fast-check
 * shrinks those that fail.
 *
 * `FUZZ_SEED` selects other histories, `MODEL_HISTORIES` their number.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import type { CheckedHistories, KnownHistories, KnownHistory, RandomHistories } from '../../support/pod-model/check-histories.ts';

const histories = Number(process.env['MODEL_HISTORIES'] ?? 100);
const [seed = 0] = fuzzSeeds();

/** Histories that have found a bug. */
const foundBugs: readonly KnownHistory[] = [
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

async function check(work: KnownHistories | RandomHistories): Promise<CheckedHistories> {
  const worker = new Worker(new URL('../../support/pod-model/check-histories.ts', import.meta.url), { workerData: work });
  const [checked] = (await once(worker, 'message')) as [CheckedHistories];
  return checked;
}

test('histories that have found a bug', async () => assert.equal((await check({ known: foundBugs })).runs, foundBugs.length));

test('pods keep their invariants in every history of a modelled node', async (t: TestContext) => {
  const { runs, starts } = await check({ kind: 'pods', numRuns: histories, seed, endOnFailure: process.env['MODEL_SHRINK'] === '0' });
  t.diagnostic(`${runs} histories, ${starts} starts`);
  assert.equal(runs, histories);
  assert.ok(starts > 2 * runs, `only ${starts} starts in ${runs} histories`);
});
