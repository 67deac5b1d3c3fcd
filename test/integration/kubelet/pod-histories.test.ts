/**
 * Random sequences of API updates, container exits, probe results, runtime faults and restarts drive the shipped kubelet; the history of its
 * pods is checked for what must never happen (test/support/pod-histories/invariants.ts), and nothing may be left at the end.
 *
 * `FUZZ_SEED` selects other sequences, `FUZZ_HISTORIES` their number. A failure names its seed: add it to `foundBugs` with the repair.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { sample } from 'fast-check';
import { fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import { ensureBuilt } from '../../support/kubelet/kubelet-command.ts';
import { DrivenNode } from '../../support/pod-histories/driven-node.ts';
import { findViolations } from '../../support/pod-histories/invariants.ts';
import { describeHistory } from '../../support/pod-histories/pod-history.ts';
import { operations } from '../../support/pod-histories/operations.ts';
import { shapes } from '../../support/pod-histories/pod-shapes.ts';

before(ensureBuilt);

const histories = Number(process.env['FUZZ_HISTORIES'] ?? 3);
const operationsPerHistory = 120;

/** The starts of containers in all histories. */
let starts = 0;

/** Seeds of sequences that have found a bug. */
const foundBugs: readonly number[] = [];

const [seed = 0] = fuzzSeeds();
const seeds = [...foundBugs, ...Array.from({ length: histories }, (_, index) => seed + index)];

async function drive(t: TestContext, each: number): Promise<void> {
  const [sequence = []] = sample(operations(shapes.length, operationsPerHistory), { seed: each, numRuns: 1 });
  const node = await DrivenNode.start(t, each % 2 === 0 ? {} : { preset: 'containerd' });
  for (const operation of sequence) await node.apply(operation);
  await node.removeEverything();
  const history = await node.history();
  const violations = findViolations(history);
  const text = describeHistory(history, (uid) => violations.some((line) => line.includes(` ${uid}`)));
  assert.deepEqual(violations, [], `${violations.join('\n')}\n${text}`);
  assert.equal(await node.stop(), 0, node.log());
  const { length } = history.filter(({ type }) => type === 'started');
  starts += length;
  t.diagnostic(`${history.length} entries, ${length} starts`);
}

// A node mostly waits.
describe('pods keep their invariants through faults and restarts', { concurrency: 4 }, () => {
  after(() => assert.ok(starts > seeds.length, `only ${starts} starts: the histories check little`));
  for (const each of seeds) test(`FUZZ_SEED=${each}`, { timeout: 300_000 }, (t) => drive(t, each));
});
