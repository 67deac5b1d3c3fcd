import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedSequence } from '../../../../src/shared/concurrency/keyed-sequence.ts';

test('operations of one key follow each other, also after a failure, and those of other keys do not wait', async () => {
  const sequence = new KeyedSequence<string>();
  const ended: string[] = [];
  const first = Promise.withResolvers<void>();
  const failing = sequence.run('a', () => first.promise.then(() => Promise.reject(new Error('first'))));
  const second = sequence.run('a', async () => ended.push('second'));
  await sequence.run('b', async () => ended.push('other'));
  assert.deepEqual([ended, sequence.has('a'), sequence.has('b')], [['other'], true, false]);
  first.resolve();
  await assert.rejects(failing, /first/);
  await second;
  await sequence.settled();
  assert.deepEqual([ended, sequence.has('a')], [['other', 'second'], false]);
});
