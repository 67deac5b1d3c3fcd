/** Encoded lists and the event hub of the simulated runtime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EncodedList, Slabs } from '../../../../lab/simulated-runtime/encoded-list.ts';
import { EventHub } from '../../../../lab/simulated-runtime/event-hub.ts';
import { shuffle } from '../../../../lab/simulated-runtime/shuffle.ts';
import { ContainerEventResponse, ListContainersResponse } from '../../../../src/shared/cri/generated/cri-v1.ts';

/** Returns a generator of numbers in [0, 1) that is the same in every run. */
function aRandom(): () => number {
  let state = 7;
  return () => ((state = (state * 16_807) % 2_147_483_647), state / 2_147_483_647);
}

function encoded(...ids: string[]): Uint8Array[] {
  return ids.map((id) => ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers: [{ id }] })).finish());
}
const idsOf = (bytes: Uint8Array) => ListContainersResponse.decode(bytes).containers.map(({ id }) => id);

test('separately encoded items can be joined repeatedly', () => {
  const list = new EncodedList(encoded('a', 'b', 'c'));
  assert.deepEqual(idsOf(list.join()), ['a', 'b', 'c']);
  assert.deepEqual(idsOf(new EncodedList(encoded('d')).join()), ['d']);
  assert.deepEqual(idsOf(list.join()), ['a', 'b', 'c']);
});

test('a list in chunks is the same list', () => {
  const chunks = [...new EncodedList(encoded('a', 'b', 'c')).inChunks(2)].map((chunk) => idsOf(chunk.join()));
  assert.deepEqual(chunks, [['a', 'b'], ['c']]);
});

test('padding only makes a list larger', () => {
  for (const bytes of [1, 127, 128, 100_000]) {
    const padded = new EncodedList(encoded('a')).withPadding(bytes).join();
    assert.ok(padded.length > bytes);
    assert.deepEqual(idsOf(padded), ['a']);
  }
});

test('stored buffers are not overwritten', () => {
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

test('each event is delivered to one subscriber, and earlier events to the first one', () => {
  const hub = new EventHub(aRandom());
  hub.publish(anEvent('early'));
  const received: string[][] = [[], []];
  const unsubscribes = received.map((mine) => hub.subscribe(({ containerId }) => mine.push(containerId)));
  for (let index = 0; index < 20; index += 1) hub.publish(anEvent(String(index)));
  assert.equal(received[0]![0], 'early');
  assert.equal(received.flat().length, 21);
  assert.ok(received[0]!.length > 1 && received[1]!.length > 1);
  for (const one of unsubscribes) one();
  assert.equal(hub.subscribers, 0);
});

test('a full channel loses events', () => {
  const hub = new EventHub(aRandom());
  for (let index = 0; index < 1500; index += 1) hub.publish(anEvent(String(index)));
  let received = 0;
  hub.subscribe(() => (received += 1));
  assert.equal(received, 1000);
});

test('events can be lost and repeated by faults', () => {
  const hub = new EventHub(aRandom());
  let received = 0;
  hub.subscribe(() => (received += 1));
  hub.setFaults({ lose: 1 });
  hub.publish(anEvent('lost'));
  assert.equal(received, 0);
  hub.setFaults({ repeat: 1 });
  hub.publish(anEvent('twice'));
  assert.equal(received, 2);
});
