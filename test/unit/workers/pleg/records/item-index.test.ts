import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ItemIndex, maxIdBytes } from '../../../../../src/workers/pleg/records/item-index.ts';

const idOf = (n: number) => `container-${n}`;
function find(index: ItemIndex<number>, id: string): number | undefined {
  const bytes = Buffer.from(`before${id}after`);
  const slot = index.find(bytes, 6, 6 + Buffer.byteLength(id));
  return slot < 0 ? undefined : index.item(slot);
}

suite('the index of items', () => {
  test('finds every ID in the bytes of a list, and no other, while it grows and shrinks', () => {
    const index = new ItemIndex<number>(4);
    const slots = Array.from({ length: 1000 }, (_, n) => index.add(idOf(n), 1, n));
    for (let n = 0; n < 1000; n += 3) index.remove(slots[n]!);
    for (let n = 0; n < 1000; n += 6) index.add(idOf(n), 2, -n);
    const want = (n: number) => (n % 6 === 0 ? -n : n % 3 === 0 ? undefined : n);
    for (let n = 0; n < 1000; n += 1) assert.equal(find(index, idOf(n)), want(n));
    assert.equal(index.size, 1000 - 334 + 167);
    assert.equal(find(index, 'container-'), undefined);
    assert.equal(index.get(idOf(1)), 1);
    assert.equal(index.get('absent'), undefined);
  });

  test('finds the items that a relist has not seen, and counts states', () => {
    const index = new ItemIndex<string>();
    const [a, b, c] = ['a', 'b', 'c'].map((id, state) => index.add(id, state, id)) as [number, number, number];
    index.markSeen(a, 1);
    index.markSeen(c, 1);
    assert.deepEqual([index.nextUnseen(0, 1), index.nextUnseen(b + 1, 1)], [b, -1]);
    index.remove(b);
    index.setRawState(a, 77);
    const counts = [0, 0, 0, 0];
    index.countRawStates(counts);
    assert.deepEqual([index.nextUnseen(0, 1), counts], [-1, [0, 0, 1, 1]]);
  });

  test('rejects an ID that is empty or too long', () => {
    const index = new ItemIndex<string>();
    assert.throws(() => index.add('', 0, ''), /0 bytes/);
    assert.throws(() => index.add('x'.repeat(maxIdBytes + 1), 0, ''), /129 bytes/);
  });
});
