import assert from 'node:assert/strict';
import type { ImageGcPolicy } from '../../../../../src/shared/contracts/images.ts';
import { formatSize } from '../../../../../src/shared/kubernetes/format-size.ts';
import {
  bytesToFree,
  imagesInEvictionOrder,
  planImageGc,
  usagePercent,
  type ImageRecord,
} from '../../../../../src/workers/images/image-gc/select-images.ts';
import { table } from '../../../../support/table.ts';

const anImage = (id: string, fields: Partial<ImageRecord> = {}): ImageRecord => ({
  id,
  runtimeHandler: '',
  names: [id],
  sizeBytes: 100,
  pinned: false,
  inUse: false,
  firstDetectedMs: 0,
  lastUsedMs: -Infinity,
  ...fields,
});
const aPolicy = (fields: Partial<ImageGcPolicy> = {}): ImageGcPolicy => ({
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
  ...fields,
});

table('images are removed least recently used first, then first detected first', (row) => {
  for (const [what, images, want] of [
    ['no images', [], []],
    ['never used before used', [anImage('used', { lastUsedMs: 5 }), anImage('never', { firstDetectedMs: 9 })], ['never', 'used']],
    ['by use', [anImage('b', { lastUsedMs: 2 }), anImage('a', { lastUsedMs: 1 })], ['a', 'b']],
    ['by detection', [anImage('b', { firstDetectedMs: 2 }), anImage('a', { firstDetectedMs: 1 })], ['a', 'b']],
    ['none in use and none pinned', [anImage('used', { inUse: true }), anImage('pause', { pinned: true }), anImage('a')], ['a']],
  ] as const) {
    row(what, () =>
      assert.deepEqual(
        imagesInEvictionOrder(images).map(({ id }) => id),
        want,
      ),
    );
  }
});

table('the thresholds decide how much is freed', (row) => {
  const tebi = 2 ** 40;
  for (const [capacityBytes, availableBytes, usage, wanted] of [
    [1000, 1000, 0, 0],
    [1000, 151, 85, 49],
    [1000, 160, 84, 0],
    [1000, 0, 100, 200],
    [1000, 9999, 0, 0],
    [100 * tebi, 10 * tebi, 90, 10 * tebi],
  ] as const) {
    const disk = { capacityBytes, availableBytes };
    row(`${availableBytes} of ${capacityBytes} free`, () =>
      assert.deepEqual([usagePercent(disk), bytesToFree(disk, aPolicy())], [usage, wanted]),
    );
  }
  row('a high threshold of 100 needs a full disk', () => {
    const policy = aPolicy({ highThresholdPercent: 100 });
    assert.deepEqual(
      [bytesToFree({ capacityBytes: 1000, availableBytes: 11 }, policy), bytesToFree({ capacityBytes: 1000, availableBytes: 9 }, policy)],
      [0, 191],
    );
  });
});

const minute = 60_000;
const day = 24 * 60 * minute;
table('a plan names each image’s fate and its reason', (row) => {
  const [young, old] = [{ firstDetectedMs: 9 * minute }, { firstDetectedMs: 0 }];
  const usedLongAgo = { lastUsedMs: 10 * minute - 2 * day };
  for (const [what, images, policy, toFreeBytes, recordsBeganMs, want] of [
    ['nothing to free', [anImage('a')], {}, 0, 0, ['a: stays, not necessary']],
    ['one is enough', [anImage('a'), anImage('b', { lastUsedMs: 1 })], {}, 100, 0, ['a: goes, space', 'b: stays, not necessary']],
    [
      'a young image stays, and the next goes',
      [anImage('a', young), anImage('b', { ...old, lastUsedMs: 1 })],
      {},
      1,
      0,
      ['a: stays, younger than imageMinimumGCAge', 'b: goes, space'],
    ],
    [
      'used and pinned images stay',
      [anImage('a', { inUse: true, pinned: true }), anImage('b', { pinned: true })],
      {},
      999,
      0,
      ['a: stays, in use', 'b: stays, pinned'],
    ],
    ['an old image goes without need', [anImage('a', usedLongAgo)], { maxAgeMs: day }, 0, -9 * day, ['a: goes, age']],
    ['no image goes for its age before the records are old enough', [anImage('a')], { maxAgeMs: day }, 0, 0, ['a: stays, not necessary']],
    [
      'what is freed by age counts',
      [anImage('a', usedLongAgo), anImage('b', { lastUsedMs: 9 * minute })],
      { maxAgeMs: day },
      100,
      -9 * day,
      ['a: goes, age', 'b: stays, not necessary'],
    ],
  ] as const) {
    row(what, () => {
      const planned = planImageGc(images, aPolicy(policy), { nowMs: 10 * minute, recordsBeganMs, toFreeBytes });
      assert.deepEqual(
        planned.map(({ image, verdict }) => `${image.id}: ${verdict.remove ? 'goes' : 'stays'}, ${verdict.reason}`),
        want,
      );
    });
  }
});

table('sizes are formatted as upstream does', (row) => {
  for (const [bytes, want] of [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536 * 1024, '1.5 MiB'],
    [10 * 2 ** 30, '10.0 GiB'],
    [3 * 2 ** 40, '3.0 TiB'],
    [3 * 2 ** 50, '3072.0 TiB'],
  ] as const) {
    row(want, () => assert.equal(formatSize(bytes), want));
  }
});
