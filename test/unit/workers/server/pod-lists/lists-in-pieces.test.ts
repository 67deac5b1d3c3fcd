import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { Reply } from '../../../../../src/shared/http/reply.ts';
import { createPodLists } from '../../../../../src/workers/server/pod-lists/pod-lists.ts';

const longPod = 8 * 1024 * 1024;

/** A main with pods of the given length in JSON, one in each portion. */
function aMain(pods: number, length: number) {
  const uids = Array.from({ length: pods }, (_, index) => `uid-${index}` as PodUID);
  const seen = { calls: 0, inFlight: 0, mostInFlight: 0 };
  return {
    seen,
    podListUIDs: async () => uids,
    async podListItems(_: unknown, [uid]: readonly PodUID[]) {
      seen.calls += 1;
      seen.inFlight += 1;
      seen.mostInFlight = Math.max(seen.mostInFlight, seen.inFlight);
      await new Promise(setImmediate);
      seen.inFlight -= 1;
      return { taken: 1, json: Buffer.from(JSON.stringify({ uid, text: 'x'.repeat(length) })) };
    },
  };
}

type Iterator = AsyncGenerator<string | Uint8Array>;
const iteratorOf = (reply: Reply) => reply.pieces as Iterator;
const settle = async () => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

test('a list in pieces is the whole list', async () => {
  const podList = createPodLists(aMain(5, 100_000));
  const reply = await podList('pods');
  const pieces = await Array.fromAsync(iteratorOf(reply));
  const list = JSON.parse(pieces.map(String).join('')) as { kind: string; items: { uid: string }[] };
  assert.equal(list.kind, 'PodList');
  assert.deepEqual(
    list.items.map(({ uid }) => uid),
    ['uid-0', 'uid-1', 'uid-2', 'uid-3', 'uid-4'],
  );
  assert.ok(pieces.every(({ length }) => length <= 65_536));
  const empty = await Array.fromAsync(iteratorOf(await createPodLists(aMain(0, 0))('pods')));
  assert.equal(empty.join(''), '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}');
});

test('a client that stops reading makes main serialize one portion only', async () => {
  const main = aMain(100, longPod);
  const pieces = iteratorOf(await createPodLists(main)('pods'));
  for (let piece = 0; piece < 3; piece += 1) await pieces.next();
  await settle();
  assert.equal(main.seen.calls, 1);
});

test('clients together hold few portions, of which main serializes one at a time, and one that leaves gives way', async () => {
  const main = aMain(100, longPod);
  const podList = createPodLists(main);
  const clients: Iterator[] = [];
  const begin = async () => {
    const client = iteratorOf(await podList('pods'));
    clients.push(client);
    await client.next();
    return { client, first: client.next() };
  };
  const first = await begin();
  await first.first;
  const second = await begin();
  await second.first;
  const third = await begin();
  await settle();
  assert.deepEqual(main.seen, { calls: 2, inFlight: 0, mostInFlight: 1 });
  await first.client.return(undefined);
  await third.first;
  assert.equal(main.seen.calls, 3);
});

test('clients that come together share their portions', async () => {
  const main = aMain(3, 1000);
  const podList = createPodLists(main);
  const replies = await Promise.all(Array.from({ length: 20 }, () => podList('runningPods')));
  await Promise.all(replies.map((reply) => Array.fromAsync(iteratorOf(reply))));
  assert.ok(main.seen.calls <= 6, `${main.seen.calls} portions`);
});

test('main’s failure is an internal error before the answer, and ends the answer after its begin', async () => {
  const fails = async () => Promise.reject(new Error('main did not answer'));
  const { status, body } = await createPodLists({ podListUIDs: fails, podListItems: fails })('pods');
  assert.deepEqual([status, body], [500, 'main did not answer\n']);
  const reply = await createPodLists({ podListUIDs: async () => ['a' as PodUID], podListItems: fails })('pods');
  await assert.rejects(Array.fromAsync(iteratorOf(reply)), /main did not answer/);
});

test('too many answers at once are refused', async () => {
  const podList = createPodLists(aMain(1, 10));
  const clients = await Promise.all(Array.from({ length: 256 }, async () => iteratorOf(await podList('pods'))));
  for (const client of clients) await client.next();
  assert.equal((await podList('pods')).status, 503);
  for (const client of clients) await client.return(undefined);
  assert.equal((await podList('pods')).status, 200);
});
