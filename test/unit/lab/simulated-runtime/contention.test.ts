/** The contention model, latencies, options and faults of the simulated runtime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedWork, containerdContention, computeSpeed } from '../../../../lab/simulated-runtime/contention.ts';
import { FaultTable } from '../../../../lab/simulated-runtime/faults.ts';
import { applyOptions, defaultOptions, drawLatencyMs } from '../../../../lab/simulated-runtime/options.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { table } from '../../../support/table.ts';

const twoCores = { cores: 2, bestParallelism: 8, lossPerCall: 0 };

/** Returns the end times of calls that all start at 0. */
async function endTimes(worksMs: readonly number[]): Promise<number[]> {
  const clock = new FakeClock();
  const work = new SharedWork(twoCores, clock);
  const ends: number[] = [];
  const { signal } = new AbortController();
  const all = worksMs.map(async (ms, index) => {
    await work.run(ms, signal);
    ends[index] = Math.round(clock.monotonic());
  });
  await clock.advance(10_000);
  await Promise.all(all);
  return ends;
}

const cases: { name: string; worksMs: number[]; want: number[] }[] = [
  { name: 'a single call takes its own time', worksMs: [100], want: [100] },
  { name: 'two calls on two cores do not affect each other', worksMs: [100, 50], want: [100, 50] },
  { name: 'four equal calls on two cores take twice as long', worksMs: [100, 100, 100, 100], want: [200, 200, 200, 200] },
  { name: 'the share of a finished call is used by the others', worksMs: [100, 100, 100, 10], want: [155, 155, 155, 20] },
];
table('concurrent calls share the cores', (row) => {
  for (const { name, worksMs, want } of cases) row(name, async () => assert.deepEqual(await endTimes(worksMs), want));
});

test('a cancelled call releases its share immediately', async () => {
  const clock = new FakeClock();
  const work = new SharedWork({ ...twoCores, cores: 1 }, clock);
  const abort = new AbortController();
  let endedAt = 0;
  void work.run(1000, abort.signal);
  const other = work.run(100, new AbortController().signal).then(() => (endedAt = clock.monotonic()));
  await clock.advance(100);
  abort.abort();
  await clock.advance(100);
  await other;
  assert.equal(Math.round(endedAt), 150);
  assert.equal(work.active, 0);
});

test('as measured on containerd: 100 sandboxes at once take about 7 s, and 8 at once have a higher throughput', () => {
  const seconds = 75 / computeSpeed(100, containerdContention) / 1000;
  assert.ok(seconds > 6 && seconds < 8, String(seconds));
  assert.ok(8 * computeSpeed(8, containerdContention) > 100 * computeSpeed(100, containerdContention));
});

test('half of the latencies are below the median, one in a hundred is above the 99th percentile', () => {
  let state = 1;
  const random = () => ((state = (state * 16_807) % 2_147_483_647), state / 2_147_483_647);
  const draws = Array.from({ length: 20_000 }, () => drawLatencyMs({ p50Ms: 75, p99Ms: 110 }, random));
  const over = (ms: number) => draws.filter((draw) => draw > ms).length / draws.length;
  assert.ok(Math.abs(over(75) - 0.5) < 0.02);
  assert.ok(Math.abs(over(110) - 0.01) < 0.005);
});

test('an unknown option is an error, and explicit options override a preset', () => {
  assert.throws(() => applyOptions(defaultOptions, { evens: true } as never), /unknown option "evens"/);
  assert.throws(() => applyOptions(defaultOptions, { preset: 'docker' as never }), /unknown preset "docker"/);
  const options = applyOptions(defaultOptions, { preset: 'containerd', pullMs: 7 });
  assert.equal(options.latency['RunPodSandbox']?.p50Ms, 75);
  assert.equal(options.pullMs, 7);
});

test('a fault applies only to its call and container, and only a number of times', () => {
  const faults = new FaultTable();
  faults.add({ call: 'ContainerStatus', id: 'a', kind: 'fail', times: 2 });
  const countMatches = (call: string, id: string) => faults.match(call, () => [id]).length;
  assert.deepEqual([countMatches('ContainerStatus', 'b'), countMatches('StopContainer', 'a')], [0, 0]);
  assert.deepEqual(
    [countMatches('ContainerStatus', 'a'), countMatches('ContainerStatus', 'a'), countMatches('ContainerStatus', 'a')],
    [1, 1, 0],
  );
  const hang = faults.add({ call: '*', kind: 'hang' });
  const [matched] = faults.match('Version', () => []);
  faults.clear(hang);
  assert.equal(matched!.cleared.aborted, true);
  assert.throws(() => faults.add({ call: 'Version', kind: 'melt' as never }), /unknown kind of fault "melt"/);
});
