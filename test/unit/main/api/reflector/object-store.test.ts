import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectStore } from '../../../../../src/main/api/reflector/object-store.ts';
import { isOlder } from '../../../../../src/main/api/reflector/resource-version.ts';
import { table } from '../../../../support/table.ts';

const object = (name: string, uid: string, resourceVersion = '1') => ({ metadata: { name, namespace: 'default', uid, resourceVersion } });
const summary = (changes: readonly { type: string; object: { metadata: { uid: string } } }[]) =>
  changes.map(({ type, object: { metadata } }) => `${type} ${metadata.uid}`);

test('an object is added, modified and deleted, and a known version changes nothing', () => {
  const store = new ObjectStore();
  assert.deepEqual(summary(store.set(object('web', 'a'))), ['ADDED a']);
  assert.deepEqual(summary(store.set(object('web', 'a'))), []);
  assert.deepEqual(summary(store.set(object('web', 'a', '2'))), ['MODIFIED a']);
  assert.deepEqual(summary(store.delete(object('web', 'a', '3'))), ['DELETED a']);
  assert.deepEqual(summary(store.delete(object('web', 'a', '3'))), []);
  assert.equal(store.getByName('default', 'web'), undefined);
});

test('a recreated object replaces the first one of its name', () => {
  const store = new ObjectStore();
  store.set(object('web', 'a'));
  assert.deepEqual(summary(store.set(object('web', 'b'))), ['DELETED a', 'ADDED b']);
  assert.equal(store.getByName('default', 'web')?.metadata.uid, 'b');
  assert.equal(store.size, 1);
});

test('replace removes objects that the new list lacks', () => {
  const store = new ObjectStore();
  store.replace([object('web', 'a'), object('db', 'b')]);
  store.replace([object('db', 'b')]);
  assert.deepEqual(
    store.list().map(({ metadata }) => metadata.uid),
    ['b'],
  );
  assert.equal(store.getByName('default', 'web'), undefined);
});

const versions: readonly [string, string, boolean][] = [
  ['99', '100', true],
  ['100', '99', false],
  ['100', '100', false],
  ['199', '200', true],
  ['', '100', false],
  ['99', '', false],
  ['abc', '100', false],
  ['12345678901234567890', '12345678901234567891', true],
];
table('resource versions are compared', (row) => {
  for (const [version, than, want] of versions)
    row(`version ${JSON.stringify(version)} is ${want ? '' : 'not '}older than ${JSON.stringify(than)}`, () =>
      assert.equal(isOlder(version, than), want),
    );
});
