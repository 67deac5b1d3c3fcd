import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TreeUsage } from '../../../../../src/shared/contracts/helper.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { TreeQueue, type Tree } from '../../../../../src/workers/stats/storage/tree-queue.ts';

const tree = (id: string, podUID: string, over: Partial<Tree> = {}): Tree => ({
  id,
  podUID: podUID as PodUID,
  path: `/${id}`,
  periodMs: 60_000,
  jitter: 0,
  ...over,
});
const done = (id: string, over: Partial<TreeUsage> = {}): TreeUsage => ({
  id,
  outcome: 'done',
  bytes: 100,
  inodes: 1,
  isIncomplete: false,
  cpuMs: 1,
  ...over,
});
const begun = (id: string, bytes: number, inodes = 1) => done(id, { outcome: 'begun', bytes, inodes, cpuMs: 5 });
const ids = (requests: readonly { readonly id: string }[]) => requests.map(({ id }) => id).join(' ');

function aQueue(...trees: Tree[]): TreeQueue {
  const queue = new TreeQueue(() => 0.5);
  queue.setTrees(trees, 0);
  return queue;
}

suite('the queue of trees', () => {
  test('takes one tree of each pod, then the next ones', () => {
    const queue = aQueue(tree('a1', 'a'), tree('a2', 'a'), tree('b1', 'b'));
    const first = queue.next(0);
    assert.equal(ids(first), 'a1 b1');
    for (const { id } of first) queue.onMeasured(done(id), 0);
    assert.equal(ids(queue.next(0)), 'a2');
    queue.onMeasured(done('a2'), 0);
    assert.equal(ids(queue.next(0)), '');
    assert.deepEqual([ids(queue.next(59_999)), ids(queue.next(60_000))], ['', 'b1 a1']);
  });

  test('gives a large tree one slice for each turn of the others', () => {
    const queue = aQueue(tree('huge', 'a'), tree('small', 'a'), tree('b1', 'b'));
    const order: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      for (const { id } of queue.next(turn)) {
        order.push(id);
        queue.onMeasured(id === 'huge' ? begun(id, turn) : done(id), turn);
      }
    }
    assert.deepEqual(order, ['huge', 'b1', 'small', 'huge', 'huge']);
  });

  test('leaves the trees first in line that a request had no time for', () => {
    const trees = ['a', 'b', 'c'].map((name) => tree(name, name));
    const queue = aQueue(...trees);
    queue.next(0);
    queue.onMeasured(begun('a', 1), 0);
    assert.equal(ids(queue.next(0)), 'b c a');
  });

  test('measures a tree again after its period with jitter, later when its walk was expensive', () => {
    const queue = aQueue(tree('a', 'a', { jitter: 1 }), tree('b', 'b'));
    queue.onMeasured(done('a'), 0);
    queue.onMeasured(begun('b', 1), 0);
    queue.onMeasured(done('b', { cpuMs: 2995 }), 0);
    assert.equal(ids(queue.next(89_999)), '');
    assert.equal(ids(queue.next(90_000)), 'a');
    assert.equal(ids(queue.next(149_999)), 'a');
    assert.equal(ids(queue.next(150_000)), 'a b');
  });

  test('publishes a walk that has not ended as a lower bound, unless more is known', () => {
    const queue = aQueue(tree('a', 'a'));
    assert.deepEqual(queue.onMeasured(begun('a', 50), 0), { bytes: 50, inodes: 1, isLowerBound: true, durationMs: null });
    const complete = { bytes: 90, inodes: 9, isLowerBound: false, durationMs: 700 };
    assert.deepEqual(queue.onMeasured(done('a', { bytes: 90, inodes: 9 }), 700), complete);
    assert.equal(queue.onMeasured(begun('a', 80), 0), null);
    assert.deepEqual(queue.onMeasured(begun('a', 95), 0), { bytes: 95, inodes: 9, isLowerBound: true, durationMs: null });
    assert.equal(queue.onMeasured(done('a', { bytes: 70, isIncomplete: true }), 800)?.isLowerBound, true);
    assert.equal(queue.onMeasured(done('a', { outcome: 'failed', bytes: 0 }), 0), null);
    assert.equal(queue.onMeasured(done('unknown'), 0), null);
  });

  test('asks for the usage of a tree’s project once it has one', () => {
    const queue = aQueue(tree('a1', 'a'));
    assert.deepEqual(queue.next(0), [{ id: 'a1', path: '/a1', keep: true }]);
    queue.onMeasured(done('a1'), 0);
    queue.setTrees([tree('a1', 'a', { project: 7 })], 1);
    assert.deepEqual(queue.next(60_000), [{ id: 'a1', path: '/a1', keep: true, project: 7 }]);
    const published = queue.onMeasured(done('a1', { isFromQuota: true }), 60_001);
    assert.deepEqual(published, { bytes: 100, inodes: 1, isLowerBound: false, durationMs: 1, isFromQuota: true });
  });

  test('keeps at most 32 walks, the others are measured as far as they come', () => {
    const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
    const queue = aQueue(...names.map((name) => tree(name, name)));
    const first = queue.next(0);
    assert.deepEqual([first.length, first.every(({ keep }) => keep)], [32, true]);
    for (const { id } of first) queue.onMeasured(begun(id, 1), 0);
    const second = queue.next(1);
    assert.deepEqual(
      second.slice(0, 8).map(({ keep }) => keep),
      Array(8).fill(false),
    );
    assert.equal(
      second.slice(8).every(({ keep }) => keep),
      true,
    );
    queue.onMeasured({ ...begun('t32', 5), outcome: 'stopped' }, 1);
    assert.equal(
      queue.next(2).some(({ id }) => id === 't32'),
      false,
    );
  });

  test('returns the walks that have begun and that nobody needs any more', () => {
    const queue = aQueue(tree('a', 'a'), tree('b', 'b'), tree('c', 'c'));
    queue.onMeasured(begun('a', 1), 0);
    queue.onMeasured(begun('b', 1), 0);
    assert.deepEqual(queue.setTrees([tree('b', 'b')], 0), ['a']);
    assert.equal(ids(queue.next(0)), 'b');
    assert.deepEqual([queue.setTrees([], 0), queue.next(1e9)], [['b'], []]);
  });

  test('finds the tree that hangs, and leaves it for longer each time', () => {
    const queue = aQueue(tree('a', 'a'), tree('bad', 'b'), tree('c', 'c'));
    queue.onMeasured(begun('a', 1), 0);
    assert.equal(queue.onHang(queue.next(0), 1), null);
    // Each is measured alone now.
    const alone: string[] = [];
    let nowMs = 2;
    for (let requests = queue.next(nowMs); requests.length > 0; requests = queue.next(nowMs)) {
      assert.equal(requests.length, 1);
      const { id } = requests[0]!;
      alone.push(id);
      nowMs += 1;
      // It is not certain yet: somebody may have ended the process.
      if (id === 'bad') assert.equal(queue.onHang(requests, nowMs), null);
      else queue.onMeasured(done(id), nowMs);
    }
    assert.deepEqual(alone.toSorted(), ['a', 'bad', 'c']);
    const endOthers = (atMs: number) => ['a', 'c'].forEach((id) => queue.onMeasured(done(id), atMs));
    endOthers(nowMs);
    assert.equal(ids(queue.next(60_000)), '');
    for (const [atMs, delayMs] of [
      [60_010, 60_000],
      [120_010, 120_000],
    ] as const) {
      endOthers(atMs);
      assert.equal(ids(queue.next(atMs)), 'bad');
      assert.equal(queue.onHang(queue.next(atMs), atMs)?.id, 'bad');
      endOthers(atMs + 1);
      assert.equal(
        queue.next(atMs + delayMs - 1).some(({ id }) => id === 'bad'),
        false,
      );
      endOthers(atMs + delayMs);
      assert.equal(ids(queue.next(atMs + delayMs)), 'bad');
    }
  });
});
