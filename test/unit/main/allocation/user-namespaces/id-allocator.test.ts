import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { IDAllocator } from '../../../../../src/main/allocation/user-namespaces/id-allocator.ts';
import type { IDRange } from '../../../../../src/main/allocation/user-namespaces/id-range.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { fuzzSeeds } from '../../../../support/fuzz/hostile-pods.ts';
import { table } from '../../../../support/table.ts';

const unit = 65536;
const [a, b] = ['a', 'b'] as PodUID[] as [PodUID, PodUID];

/** The host's IDs from `first` units on, divided into ranges of `unitsPerPod`. */
function anAllocator({ first = 1, count = 3, unitsPerPod = 1, random = (): number => 0 } = {}): IDAllocator {
  const idsPerPod = unit * unitsPerPod;
  return new IDAllocator({ range: { firstID: first * idsPerPod, length: count * idsPerPod }, idsPerPod, random });
}
const rangeAt = (units: number, length = 1): IDRange => ({ firstID: units * unit, length: length * unit });

const files: readonly [name: string, range: IDRange, want: RegExp | null][] = [
  ['a free range', rangeAt(2), null],
  ['its own range again', rangeAt(1), null],
  ['another length', rangeAt(2, 2), /wrong user namespace length 131072/],
  ['no length', { firstID: unit, length: 0 }, /wrong user namespace length 0/],
  ['a huge length', { firstID: unit, length: 2 ** 32 - 1 }, /wrong user namespace length 4294967295/],
  ['an offset', { firstID: unit + 1, length: unit }, /wrong user namespace offset specified 65537/],
  ['the host’s own IDs', rangeAt(0), /id 0 is out of range/],
  ['IDs behind the last range', rangeAt(4), /id 262144 is out of range/],
  ['the highest IDs', rangeAt(65535), /id 4294901760 is out of range/],
];

table('the range of a file is recorded only if it is valid and free', (row) => {
  for (const [name, range, want] of files) {
    row(name, () => {
      const allocator = anAllocator();
      if (name === 'its own range again') allocator.record(a, range);
      if (want) assert.throws(() => allocator.record(a, range), want);
      else allocator.record(a, range);
      assert.deepEqual(allocator.get(a), want ? undefined : range);
    });
  }
  row('the range of another pod', () => {
    const allocator = anAllocator();
    allocator.record(b, rangeAt(1));
    assert.throws(() => allocator.record(a, rangeAt(1)), /range picked for pod "a" already taken/);
  });
  row('a second range', () => {
    const allocator = anAllocator();
    allocator.record(a, rangeAt(1));
    assert.throws(() => allocator.record(a, rangeAt(2)), /different user namespace range already used by pod "a"/);
  });
});

test('a pod keeps its range; the last one is followed by an error, and a released one is given again', () => {
  const allocator = anAllocator({ count: 2 });
  const first = allocator.allocate(a);
  assert.deepEqual(allocator.allocate(a), first);
  assert.deepEqual([first, allocator.allocate(b)], [rangeAt(1), rangeAt(2)]);
  assert.throws(() => allocator.allocate('c' as PodUID), /^Error: could not find an empty slot to allocate a user namespace$/);
  allocator.release(a);
  assert.deepEqual(allocator.allocate('c' as PodUID), first);
});

test('the range with the last ID is neither allocated nor recorded', () => {
  const allocator = anAllocator({ first: 65534, count: 2, random: () => 0.99 });
  assert.deepEqual(allocator.allocate(a), rangeAt(65534));
  assert.throws(() => allocator.allocate(b), /could not find an empty slot/);
  assert.throws(() => allocator.record(b, rangeAt(65535)), /id 4294901760 is out of range/);
});

test('the search begins at a random range and wraps around', () => {
  const allocator = anAllocator({ random: () => 0.99 });
  assert.deepEqual([allocator.allocate(a), allocator.allocate(b)], [rangeAt(3), rangeAt(1)]);
});

test('IDs of an earlier idsPerPod are given to no other pod, until their pod is gone', () => {
  const allocator = anAllocator({ first: 1, count: 2, unitsPerPod: 4 });
  allocator.block(a, rangeAt(5));
  assert.deepEqual(allocator.allocate(b), rangeAt(8, 4));
  assert.throws(() => allocator.allocate('c' as PodUID), /could not find an empty slot/);
  assert.throws(() => allocator.record('c' as PodUID, rangeAt(4, 4)), /already taken/);
  assert.deepEqual(allocator.uids(), ['b', 'a']);
  allocator.release(a);
  assert.deepEqual(allocator.allocate('c' as PodUID), rangeAt(4, 4));
});

const sandboxes: readonly [name: string, range: IDRange, want: RegExp | null][] = [
  ['the range of the file', rangeAt(1), null],
  ['another range', rangeAt(3), null],
  ['a range of another length', rangeAt(4, 2), null],
  ['the range of another pod', rangeAt(2), /another pod has some of the IDs of its sandbox: 65536 from 131072 on/],
  ['a range with the range of another pod', rangeAt(0, 4), /the IDs of its sandbox are invalid/],
  ['a range with IDs that the file of another pod has', rangeAt(6, 2), /another pod has some of the IDs/],
  ['the host’s own IDs', rangeAt(0), /the IDs of its sandbox are invalid/],
  ['no IDs', rangeAt(1, 0), /invalid/],
  ['a length that no kubelet uses', { firstID: unit, length: 1000 }, /invalid/],
];

table('the IDs of a running sandbox win over the recorded ones, unless another pod has them', (row) => {
  for (const [name, range, want] of sandboxes) {
    row(name, () => {
      const allocator = anAllocator({ count: 6 });
      allocator.record(a, rangeAt(1));
      allocator.record(b, rangeAt(2));
      allocator.block('c' as PodUID, rangeAt(7));
      if (want) assert.throws(() => allocator.adopt(a, range), want);
      else allocator.adopt(a, range);
      assert.deepEqual(allocator.get(a), want ? rangeAt(1) : range);
      const given = ['d', 'e', 'f'].map((uid) => allocator.allocate(uid as PodUID).firstID / unit);
      assert.deepEqual(given.length, 3);
      assert.ok(!given.some((at) => at === allocator.get(a)!.firstID / unit || at === 2));
    });
  }
});

test('a range that no kubelet can have written blocks nothing', () => {
  const allocator = anAllocator({ count: 1 });
  for (const range of [rangeAt(1, 0), { firstID: 1, length: unit }, { firstID: unit, length: 2 ** 32 - 1 }, rangeAt(65535, 2)])
    allocator.block(a, range);
  assert.deepEqual(allocator.allocate(b), rangeAt(1));
});

type Step =
  | { readonly kind: 'allocate' | 'release'; readonly uid: PodUID }
  | { readonly kind: 'record' | 'block' | 'adopt'; readonly uid: PodUID; readonly range: IDRange };

test('no ID is ever part of two pods’ ranges', () => {
  const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f') as fc.Arbitrary<PodUID>;
  const range = fc
    .record({ firstID: fc.nat(12), length: fc.constantFrom(0, 1, 2, 4) })
    .map(({ firstID, length }) => rangeAt(firstID, length));
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('allocate' as const, 'release' as const), uid }),
    fc.record({ kind: fc.constantFrom('record' as const, 'block' as const, 'adopt' as const), uid, range }),
  );
  const run = (steps: readonly Step[], start: number) => {
    const allocator = anAllocator({ first: 1, count: 4, unitsPerPod: 2, random: () => start });
    for (const each of steps) {
      try {
        if (each.kind === 'record' || each.kind === 'block' || each.kind === 'adopt') allocator[each.kind](each.uid, each.range);
        else allocator[each.kind](each.uid);
      } catch {
        // A refused range.
      }
      const ranges = allocator.uids().flatMap((one) => allocator.get(one) ?? []);
      const units = ranges.flatMap(({ firstID, length }) => Array.from({ length: length / unit }, (_, i) => firstID / unit + i));
      assert.equal(new Set(units).size, units.length);
      assert.ok(units.every((one) => Number.isInteger(one) && one >= 1));
    }
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), run), {
    seed: fuzzSeeds()[0]!,
    numRuns: 500,
  });
});
