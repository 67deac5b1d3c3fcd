import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TreeRequest, TreeUsage } from '../../../../../src/shared/contracts/helper.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { TreeMeasurer } from '../../../../../src/workers/stats/storage/tree-measurer.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

/** A helper process whose walks cost `cpuMs` for each tree, and end in the slice given for it. */
class FakeHelper {
  readonly requests: string[] = [];
  readonly forgotten: string[] = [];
  processCpuMs = 60;
  cpuMs = 5;
  fail: (() => Error | undefined) | undefined;
  readonly slices = new Map<string, number>();

  readonly measureTrees = async ({ trees, forget }: { trees: readonly TreeRequest[]; forget: readonly string[] }) => {
    this.requests.push(trees.map(({ id }) => id).join(' '));
    this.forgotten.push(...forget);
    const failure = this.fail?.();
    if (failure) throw failure;
    this.processCpuMs += this.cpuMs * trees.length;
    return { trees: trees.map(({ id }) => this.#usage(id)), cpuMs: this.processCpuMs };
  };

  #usage(id: string): TreeUsage {
    const left = (this.slices.get(id) ?? 1) - 1;
    this.slices.set(id, left);
    if (this.slices.get(id) === -1) return { id, outcome: 'failed', bytes: 0, inodes: 0, isIncomplete: true, cpuMs: 1, message: 'broken' };
    return { id, outcome: left > 0 ? 'begun' : 'done', bytes: 100 - left, inodes: 1, isIncomplete: false, cpuMs: this.cpuMs };
  }
}

function aMeasurer() {
  const clock = new FakeClock();
  const helper = new FakeHelper();
  const measured: string[] = [];
  const { logger, lines } = aLogger();
  const measurer = new TreeMeasurer({
    measureTrees: helper.measureTrees,
    onFailed: (id) => measured.push(`${id} failed`),
    onMeasured: (id, { bytes, isLowerBound }) => measured.push(`${id} ${isLowerBound ? '≥' : '='} ${bytes}`),
    clock,
    logger,
    random: () => 0,
  });
  const setTrees = (...names: string[]) =>
    measurer.setTrees(names.map((id) => ({ id, podUID: id as PodUID, path: `/${id}`, periodMs: 60_000, jitter: 0 })));
  return { clock, helper, measured, measurer, setTrees, lines };
}
const failure = (code: string) => Object.assign(new Error(code), { code });
const { signal } = new AbortController();

suite('the measurement of trees', () => {
  test('continues a large tree in slices, with lower bounds, until nothing is due', async () => {
    const { clock, helper, measured, measurer, setTrees } = aMeasurer();
    helper.slices.set('a', 3);
    setTrees('a', 'b');
    const measuring = measurer.measureDue(signal);
    await clock.advance(10_000);
    await measuring;
    assert.deepEqual(helper.requests, ['a b', 'a', 'a']);
    assert.deepEqual(measured, ['a ≥ 98', 'b = 100', 'a ≥ 99', 'a = 100']);
  });

  test('reports trees that cannot be opened, with one warning', async () => {
    const { helper, measured, measurer, setTrees, lines } = aMeasurer();
    for (const id of ['a', 'b']) helper.slices.set(id, 0);
    setTrees('a', 'b', 'c');
    await measurer.measureDue(signal);
    assert.deepEqual(measured, ['a failed', 'b failed', 'c = 100']);
    assert.equal(lines.filter(({ level }) => level >= 40).length, 1);
  });

  test('uses a twentieth of a core, the start of the process included', async () => {
    const { clock, helper, measurer, setTrees } = aMeasurer();
    helper.slices.set('a', 1000);
    setTrees('a');
    void measurer.measureDue(signal);
    await clock.advance(20_000);
    const before = helper.processCpuMs;
    await clock.advance(100_000);
    const used = helper.processCpuMs - before;
    assert.ok(used > 4000 && used <= 5000, `${used} ms of 100 s`);
    assert.ok(before <= 0.05 * 20_000 + 100, `${before} ms of 20 s`);
  });

  test('measures the trees of a request alone when the process does not answer, and leaves the one that hangs', async () => {
    const { clock, helper, measured, measurer, setTrees, lines } = aMeasurer();
    helper.fail = () => (helper.requests.at(-1)!.split(' ').includes('bad') ? failure('ETIMEDOUT') : undefined);
    setTrees('a', 'bad', 'b');
    const measuring = measurer.measureDue(signal);
    await clock.advance(10_000);
    await measuring;
    assert.deepEqual(helper.requests, ['a bad b', 'a', 'bad', 'b']);
    assert.deepEqual(measured, ['a = 100', 'b = 100']);
    const hangs = () => lines.filter(({ msg }) => msg === 'A tree can’t be measured: its filesystem may hang');
    assert.equal(hangs().length, 0);
    await clock.advance(61_000);
    const again = measurer.measureDue(signal);
    await clock.advance(10_000);
    await again;
    assert.deepEqual(
      hangs().map(({ path }) => path),
      ['/bad'],
    );
  });

  test('waits when no process can be started', async () => {
    const { clock, helper, measured, measurer, setTrees } = aMeasurer();
    helper.fail = () => new Error('8 helper processes hang in the kernel: no more are started');
    setTrees('a');
    const measuring = measurer.measureDue(signal);
    await clock.advance(59_000);
    assert.equal(helper.requests.length, 1);
    helper.fail = undefined;
    await clock.advance(2000);
    await measuring;
    await measurer.measureDue(signal);
    assert.deepEqual(measured, ['a = 100']);
  });

  test('ends the walks of pods that are gone', async () => {
    const { clock, helper, measurer, setTrees } = aMeasurer();
    helper.slices.set('a', 1000);
    setTrees('a');
    const measuring = measurer.measureDue(signal);
    await clock.advance(1000);
    setTrees();
    await clock.advance(10_000);
    await measuring;
    setTrees('b');
    await measurer.measureDue(signal);
    assert.deepEqual(helper.forgotten, ['a']);
  });

  test('reports no hang at the end of the thread', async () => {
    const { helper, measurer, setTrees, lines } = aMeasurer();
    const stop = new AbortController();
    helper.fail = () => {
      stop.abort();
      return failure('EPIPE');
    };
    setTrees('a');
    await measurer.measureDue(stop.signal);
    assert.equal(lines.length, 0);
  });
});
