/**
 * Random histories of resizes on a modelled node (test/support/pod-model/), with either version of cgroups: of pods of the API server and of manifests, of
 * volumes in memory, and of critical pods, for which others end. The node becomes larger and smaller. The kubelet is killed before and after writes of
 * checkpoints, cgroups and volumes and calls of the runtime, which fail, hang, or are not implemented.
 *
 * At the end cgroups, containers, volumes, checkpoints and statuses agree; what is pending does not fit, or is infeasible. A container has restarted only
 * where its policy says so, each event has a cause and comes once, an object has one update at a time, no limit is set below the usage, no allocation
 * makes or enlarges an excess over the node, and the next kubelet repeats nothing.
 *
 * `FUZZ_SEED` selects other histories, `MODEL_HISTORIES` their number.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import type { CheckedHistories, KnownHistories, KnownHistory, RandomHistories } from '../../support/pod-model/check-histories.ts';

const histories = Number(process.env['MODEL_HISTORIES'] ?? 15);
const [seed = 0] = fuzzSeeds();

/** Histories that have found a bug. */
const foundBugs: readonly KnownHistory[] = [
  {
    name: 'containers without limits of their own are recorded with their pod’s, also when the record was lost',
    operations: [
      { type: 'create', slot: 0, shape: 23, policy: 'Always', graceSeconds: 1 },
      { type: 'wait', ms: 12_000 },
      { type: 'loseCheckpoint', which: 'actuated', how: 'removed' },
    ],
    useEvents: false,
  },
  {
    name: 'a volume in memory gets its allocated size also when its record was lost',
    operations: [
      { type: 'create', slot: 0, shape: 24, policy: 'Always', graceSeconds: 1 },
      { type: 'wait', ms: 3000 },
      { type: 'resizeVolume', slot: 0, memory: 4 },
      { type: 'loseCheckpoint', which: 'both', how: 'removed' },
    ],
    useEvents: false,
    cgroupVersion: 2,
  },
  {
    name: 'a running pod whose record is lost is not refused for what another one asks for',
    operations: [
      { type: 'create', slot: 0, shape: 20, policy: 'Always', graceSeconds: 1 },
      { type: 'create', slot: 1, shape: 17, policy: 'Always', graceSeconds: 1 },
      { type: 'resize', slot: 0, pick: 9, cpu: 4, memory: 0, parts: 'cpu' },
      { type: 'wait', ms: 100 },
      { type: 'loseCheckpoint', which: 'allocated', how: 'removed' },
      { type: 'delete', slot: 0, graceSeconds: 1 },
      { type: 'resize', slot: 0, pick: 0, cpu: 5, memory: 0, parts: 'cpu' },
    ],
    useEvents: false,
  },
  {
    name: 'a pod that was admitted while the disk was full keeps what is in force, and is resized from there',
    operations: [
      { type: 'diskFull', ms: 30_000 },
      { type: 'create', slot: 1, shape: 17, policy: 'Always', graceSeconds: 2 },
      { type: 'wait', ms: 1000 },
      { type: 'resize', slot: 1, pick: 0, cpu: 3, memory: 0, parts: 'cpu' },
      { type: 'wait', ms: 100 },
      { type: 'restartKubelet', signal: 'SIGKILL', downMs: 3000 },
    ],
    useEvents: true,
  },
  {
    name: 'a container has the memory request that is allocated, also when its record was lost before its first status',
    operations: [
      { type: 'create', slot: 0, shape: 25, policy: 'Always', graceSeconds: 1 },
      { type: 'wait', ms: 100 },
      { type: 'resize', slot: 0, pick: 0, cpu: 1, memory: 0, parts: 'memory' },
      { type: 'loseCheckpoint', which: 'both', how: 'removed' },
    ],
    useEvents: false,
    cgroupVersion: 2,
  },
  {
    name: 'a Guaranteed container stays so when its record was lost before its first status',
    operations: [
      { type: 'create', slot: 0, shape: 18, policy: 'Always', graceSeconds: 1 },
      { type: 'wait', ms: 100 },
      { type: 'resize', slot: 0, pick: 0, cpu: 6, memory: 0, parts: 'both' },
      { type: 'loseCheckpoint', which: 'allocated', how: 'removed' },
    ],
    useEvents: false,
    cgroupVersion: 2,
  },
  {
    name: 'a pod without a record and without containers is admitted with what is asked for then',
    operations: [
      { type: 'create', slot: 0, shape: 17, policy: 'Always', graceSeconds: 1 },
      { type: 'diskFull', ms: 30_000 },
      { type: 'wait', ms: 30 },
      { type: 'restartKubelet', signal: 'SIGTERM', downMs: 0 },
      { type: 'resize', slot: 0, pick: 0, cpu: 6, memory: 0, parts: 'cpu' },
      { type: 'wait', ms: 12_000 },
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

/** A resize of both resources has as many. */
const killPoints = 20;
const killedAtEachStep = Array.from({ length: killPoints }, (_, index): KnownHistory => {
  const cgroupVersion = index % 2 === 0 ? 1 : 2;
  const points = index + 1;
  return {
    name: `killed at point ${points} with cgroup v${cgroupVersion}`,
    operations: [
      { type: 'create', slot: 0, shape: 18, policy: 'Always', graceSeconds: 1 },
      { type: 'wait', ms: 3000 },
      { type: 'killAt', points, downMs: 10 },
      { type: 'resize', slot: 0, pick: 1, cpu: 3, memory: 2, parts: 'both' },
      { type: 'wait', ms: 300 },
      { type: 'resize', slot: 0, pick: 0, cpu: 1, memory: 0, parts: 'memory' },
      { type: 'wait', ms: 3000 },
    ],
    useEvents: true,
    cgroupVersion,
  };
});

test('a kubelet that is killed at any step of a resize loses nothing', async () =>
  assert.equal((await check({ known: killedAtEachStep })).runs, killPoints));

test('resizes are in force, or wait for a reason, whatever fails or dies', async (t: TestContext) => {
  const { runs, starts } = await check({
    kind: 'resizes',
    numRuns: histories,
    seed,
    endOnFailure: process.env['MODEL_SHRINK'] === '0',
  });
  t.diagnostic(`${runs} histories, ${starts} starts`);
  assert.equal(runs, histories);
});
