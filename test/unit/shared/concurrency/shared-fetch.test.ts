import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedFetch } from '../../../../src/shared/concurrency/shared-fetch.ts';
import { settle } from '../../../support/fake-clock.ts';

function aFetch() {
  const started: PromiseWithResolvers<string>[] = [];
  const fetch = new SharedFetch(() => {
    const result = Promise.withResolvers<string>();
    started.push(result);
    return result.promise;
  });
  return { fetch, started };
}

test('callers before the start of a fetch share it', async () => {
  const { fetch, started } = aFetch();
  const results = Array.from({ length: 100 }, () => fetch.get());
  await settle();
  assert.equal(started.length, 1);
  started[0]!.resolve('node');
  assert.deepEqual(new Set(await Promise.all(results)), new Set(['node']));
});

test('callers during a fetch share the next one, because the current result may be older than their call', async () => {
  const { fetch, started } = aFetch();
  const first = fetch.get();
  await settle();
  const late: Promise<string>[] = [];
  for (let i = 0; i < 3; i += 1) {
    late.push(fetch.get());
    await settle();
  }
  assert.equal(started.length, 1);
  started[0]!.resolve('old');
  await settle();
  assert.equal(started.length, 2);
  started[1]!.resolve('new');
  assert.deepEqual([await first, ...(await Promise.all(late))], ['old', 'new', 'new', 'new']);
});

test('a failed fetch rejects all callers that share it, and no later ones', async () => {
  const { fetch, started } = aFetch();
  const failed = [fetch.get(), fetch.get()];
  await settle();
  const next = fetch.get();
  started[0]!.reject(new Error('refused'));
  assert.deepEqual(
    (await Promise.allSettled(failed)).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await settle();
  started[1]!.resolve('node');
  assert.equal(await next, 'node');
});
