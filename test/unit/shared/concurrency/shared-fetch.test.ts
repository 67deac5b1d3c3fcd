import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedFetch } from '../../../../src/shared/concurrency/shared-fetch.ts';
import { settle } from '../../../support/fake-clock.ts';

function aFetch() {
  const begun: PromiseWithResolvers<string>[] = [];
  const fetch = new SharedFetch(() => {
    const answer = Promise.withResolvers<string>();
    begun.push(answer);
    return answer.promise;
  });
  return { fetch, begun };
}

test('who asks before a request has begun shares it', async () => {
  const { fetch, begun } = aFetch();
  const answers = Array.from({ length: 100 }, () => fetch.get());
  await settle();
  assert.equal(begun.length, 1);
  begun[0]!.resolve('node');
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['node']));
});

test('who asks while one is under way shares the next: the answer to that one may be older than the question', async () => {
  const { fetch, begun } = aFetch();
  const first = fetch.get();
  await settle();
  const late: Promise<string>[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    late.push(fetch.get());
    await settle();
  }
  assert.equal(begun.length, 1);
  begun[0]!.resolve('old');
  await settle();
  assert.equal(begun.length, 2);
  begun[1]!.resolve('new');
  assert.deepEqual([await first, ...(await Promise.all(late))], ['old', 'new', 'new', 'new']);
});

test('a request that fails does so for all that share it, and for nobody after', async () => {
  const { fetch, begun } = aFetch();
  const failed = [fetch.get(), fetch.get()];
  await settle();
  const next = fetch.get();
  begun[0]!.reject(new Error('refused'));
  assert.deepEqual(
    (await Promise.allSettled(failed)).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await settle();
  begun[1]!.resolve('node');
  assert.equal(await next, 'node');
});
