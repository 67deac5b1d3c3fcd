/** Lists that are encoded once and joined many times, and events that go to one subscriber each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EncodedList, Slabs } from '../../../../bench/runtime/encoded-list.ts';
import { EventHub } from '../../../../bench/runtime/event-hub.ts';
import { shuffle } from '../../../../bench/runtime/shuffle.ts';
import { ContainerEventResponse, ListContainersResponse } from '../../../../src/shared/cri/generated/cri-v1.ts';

/** Numbers in [0, 1), the same in every run. */
function aRandom(): () => number {
  let state = 7;
  return () => ((state = (state * 16_807) % 2_147_483_647), state / 2_147_483_647);
}

function encoded(...ids: string[]): Uint8Array[] {
  return ids.map((id) => ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers: [{ id }] })).finish());
}
const idsOf = (bytes: Uint8Array) => ListContainersResponse.decode(bytes).containers.map(({ id }) => id);

test('items that were encoded one by one are one list when joined, however often', () => {
  const list = new EncodedList(encoded('a', 'b', 'c'));
  assert.deepEqual(idsOf(list.join()), ['a', 'b', 'c']);
  assert.deepEqual(idsOf(new EncodedList(encoded('d')).join()), ['d']);
  assert.deepEqual(idsOf(list.join()), ['a', 'b', 'c']);
});

test('a list in chunks is the same list', () => {
  const chunks = [...new EncodedList(encoded('a', 'b', 'c')).inChunks(2)].map((chunk) => idsOf(chunk.join()));
  assert.deepEqual(chunks, [['a', 'b'], ['c']]);
});

test('padding makes a list larger and nothing else', () => {
  for (const bytes of [1, 127, 128, 100_000]) {
    const padded = new EncodedList(encoded('a')).withPadding(bytes).join();
    assert.ok(padded.length > bytes);
    assert.deepEqual(idsOf(padded), ['a']);
  }
});

test('what is kept in a slab stays as it was', () => {
  const slabs = new Slabs();
  const item = (index: number) => `item ${index}`.padEnd(10_000); // 200 of them fill one slab, and most of another.
  const kept = Array.from({ length: 200 }, (_, index) => slabs.store(Buffer.from(item(index))));
  assert.deepEqual(
    kept.map((bytes) => Buffer.from(bytes).toString()),
    kept.map((_, index) => item(index)),
  );
  const large = Buffer.alloc(2_000_000);
  assert.equal(slabs.store(large), large);
});

test('a shuffled list has the same items', () => {
  const items = [1, 2, 3, 4, 5, 6, 7, 8];
  const shuffled = shuffle([...items], aRandom());
  assert.notDeepEqual(shuffled, items);
  assert.deepEqual(
    [...shuffled].sort((a, b) => a - b),
    items,
  );
});

function anEvent(containerId: string): ContainerEventResponse {
  return ContainerEventResponse.fromPartial({ containerId });
}

test('each event goes to one of the subscribers, and what nobody heard waits for the first', () => {
  const hub = new EventHub(aRandom());
  hub.publish(anEvent('early'));
  const heard: string[][] = [[], []];
  const leave = heard.map((mine) => hub.subscribe(({ containerId }) => mine.push(containerId)));
  for (let index = 0; index < 20; index += 1) hub.publish(anEvent(String(index)));
  assert.equal(heard[0]![0], 'early');
  assert.equal(heard.flat().length, 21);
  assert.ok(heard[0]!.length > 1 && heard[1]!.length > 1);
  for (const one of leave) one();
  assert.equal(hub.subscribers, 0);
});

test('a channel that is full loses events', () => {
  const hub = new EventHub(aRandom());
  for (let index = 0; index < 1500; index += 1) hub.publish(anEvent(String(index)));
  let heard = 0;
  hub.subscribe(() => (heard += 1));
  assert.equal(heard, 1000);
});

test('events are lost and repeated on demand', () => {
  const hub = new EventHub(aRandom());
  let heard = 0;
  hub.subscribe(() => (heard += 1));
  hub.setFaults({ lose: 1 });
  hub.publish(anEvent('lost'));
  assert.equal(heard, 0);
  hub.setFaults({ repeat: 1 });
  hub.publish(anEvent('twice'));
  assert.equal(heard, 2);
});
