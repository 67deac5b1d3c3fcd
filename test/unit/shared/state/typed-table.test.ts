import assert from 'node:assert/strict';
import { test } from 'node:test';
import { f64, i32, i64, boundedText, u32, u8 } from '../../../../src/shared/state/table-layout.ts';
import { defineTable, TableFullError } from '../../../../src/shared/state/typed-table.ts';

const fields = { flag: u8, id: boundedText(12), count: u32, code: i32, at: f64, ns: i64, name: boundedText(5) };
const table = defineTable('samples', fields);
const row = (id: string, over = {}) => ({ flag: 1, id, count: 4_000_000_000, code: -7, at: 1.5, ns: 2n ** 60n, name: 'ä', ...over });

test('a row reads as it was written, with every kind of field', () => {
  const buffer = table.create(3);
  const writer = table.writer(buffer);
  const index = writer.insert(row('first'));
  assert.deepEqual(table.reader(buffer).read(index), row('first'));
  assert.equal(table.reader(buffer).get(index, 'ns'), 2n ** 60n);
});

test('an update changes the fields that it names and the version by two', () => {
  const buffer = table.create(3);
  const writer = table.writer(buffer);
  const index = writer.insert(row('first'));
  const before = writer.version(index);
  writer.update(index, { count: 2, name: 'b' });
  assert.deepEqual(writer.read(index), row('first', { count: 2, name: 'b' }));
  assert.equal(writer.version(index), before + 2);
});

test('a sparse row has zeros where no value is given, also where another row was before', () => {
  const buffer = table.create(1);
  const [writer, reader] = [table.writer(buffer), table.reader(buffer)];
  const index = writer.insert(row('first'));
  writer.free(index);
  assert.equal(writer.insertSparse({ id: 'next' }), index);
  const { id, ...numbers } = reader.read(index)!;
  assert.equal(id, 'next');
  assert.ok(Object.values(numbers).every((value) => value === '' || Number(value) === 0));
  writer.putSparse(index, {});
  assert.equal(reader.read(index)?.id, '');
});

test('a freed row is reused, and cannot be read before', () => {
  const buffer = table.create(2);
  const writer = table.writer(buffer);
  const [a, b] = [writer.insert(row('a')), writer.insert(row('b'))];
  writer.free(a);
  writer.free(a);
  assert.equal(writer.read(a), undefined);
  assert.deepEqual(
    Array.from(writer.rows(), ([, { id }]) => id),
    ['b'],
  );
  assert.equal(writer.used, 1);
  assert.equal(writer.insert(row('c')), a);
  assert.notEqual(a, b);
  assert.throws(() => writer.insert(row('d')), new TableFullError('samples', 2));
  assert.throws(() => writer.insert(row('d')), /samples is full: all of its 2 rows/);
});

test('a boundedText that does not fit throws with the field’s name and changes nothing', () => {
  const writer = table.writer(table.create(1));
  assert.throws(() => writer.insert(row('thirteen char')), /samples\.id: "thirteen char…" has 13 bytes, more than the 12/);
  assert.equal(writer.used, 0);
  assert.equal(writer.insert(row('twelve chars')), 0);
});

test('opening the buffer of another table throws', () => {
  const other = defineTable('others', { id: boundedText(12) });
  assert.throws(() => table.reader(other.create(9)), /does not hold the table samples/);
  assert.throws(() => table.reader(new SharedArrayBuffer(64)), /does not hold the table samples/);
});

test('reading a row outside the table throws', () => {
  const writer = table.writer(table.create(1));
  for (const index of [-1, 1, NaN]) assert.throws(() => writer.read(index), /is not in the table samples of 1 rows/);
});

test('a successor empties a row that a dead writer left half-written', (t) => {
  const buffer = table.create(3);
  const writer = table.writer(buffer);
  const [whole, half] = [writer.insert(row('whole')), writer.insert(row('half'))];
  leaveHalfWritten(buffer, half);
  t.mock.method(Atomics, 'wait', () => 'timed-out'); // A reader of the row would sleep.
  assert.equal(table.reader(buffer).read(half), undefined);
  const successor = table.writer(buffer);
  assert.equal(successor.used, 1);
  assert.equal(successor.read(whole)?.id, 'whole');
  assert.equal(successor.insert(row('next')), half);
  assert.equal(successor.read(half)?.id, 'next');
});

test('the row of a writer that died before raising the high-water mark can be reused', () => {
  const buffer = table.create(3);
  table.writer(buffer);
  leaveHalfWritten(buffer, 0);
  const successor = table.writer(buffer);
  assert.equal(successor.insert(row('next')), 0);
  assert.equal(table.reader(buffer).read(0)?.id, 'next');
});

test('a successor reuses the rows that its predecessor freed', () => {
  const buffer = table.create(2);
  const writer = table.writer(buffer);
  writer.insert(row('a'));
  writer.free(writer.insert(row('b')));
  const successor = table.writer(buffer);
  assert.equal(successor.insert(row('c')), 1);
  assert.equal(successor.used, 2);
});

test('a boundedText is compared as bytes, without decoding', () => {
  const writer = table.writer(table.create(1));
  const index = writer.insert(row('abc'));
  const bytes = Buffer.from('xabcx');
  assert.equal(writer.textEquals(index, 'id', bytes, 1, 4), true);
  assert.equal(writer.textEquals(index, 'id', bytes, 1, 5), false);
  assert.equal(writer.textEquals(index, 'id', bytes, 0, 3), false);
});

test('two tables can share a buffer', () => {
  const other = defineTable('others', { id: boundedText(12) });
  const buffer = new SharedArrayBuffer(table.bytes(2) + other.bytes(2));
  table.create(2, buffer);
  other.create(2, buffer, table.bytes(2));
  table.writer(buffer).insert(row('one'));
  other.writer(buffer, table.bytes(2)).insert({ id: 'two' });
  assert.equal(table.reader(buffer).read(0)?.id, 'one');
  assert.deepEqual(other.reader(buffer, table.bytes(2)).read(0), { id: 'two' });
});

/** Makes the row’s version odd, like a writer that dies during a write. */
function leaveHalfWritten(buffer: SharedArrayBuffer, index: number): void {
  const headerBytes = table.bytes(0);
  Atomics.add(new Int32Array(buffer), (headerBytes + index * table.layout.rowBytes) / 4, 1);
}
