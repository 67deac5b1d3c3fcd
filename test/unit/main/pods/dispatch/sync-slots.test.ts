import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { SyncKind } from '../../../../../src/main/pods/dispatch/sync-kind.ts';
import { SyncSlots, type SyncSlot } from '../../../../../src/main/pods/dispatch/sync-slots.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const nextIteration = async () => {
  await new Promise<void>((resolve) => setImmediate(resolve));
  await settle();
};

interface Request {
  readonly kind?: SyncKind;
  readonly priority?: number;
  readonly podSeenAtMs?: number;
  readonly large?: boolean;
}

/** With `isStarted`, the initial delay of resyncs is over. */
async function someSlots({ startLimit = 4, isStarted = true } = {}) {
  const clock = new FakeClock();
  const slots = new SyncSlots(clock, () => startLimit);
  const granted: string[] = [];
  const slotOf = new Map<string, SyncSlot>();
  const request = (name: string, { kind = 'resync', priority = 0, podSeenAtMs = 0, large = false }: Request = {}) => {
    const slot = slots.request({ uid: name as PodUID, kind, priority, podSeenAtMs, large });
    slotOf.set(name, slot);
    void slot.granted.then(() => granted.push(name));
  };
  /** Returns the names that were granted since the last call. */
  const takeGranted = async () => {
    await settle();
    return granted.splice(0);
  };
  if (isStarted) {
    slots.request({ uid: 'first' as PodUID, kind: 'resync', priority: 0, podSeenAtMs: 0, large: false }).release();
    await clock.advance(200);
  }
  return {
    clock,
    granted,
    request,
    takeGranted,
    stopCounting: (name: string) => slots.stopCounting(name as PodUID),
    extend: (name: string) => slots.extend(name as PodUID),
    release: (name: string) => slotOf.get(name)!.release(),
    prioritize: (name: string) => slotOf.get(name)!.prioritize(),
  };
}

test('an iteration of the event loop grants four slots, urgent ones first, and the next iteration goes on', async () => {
  const { granted, request } = await someSlots();
  const inThisIteration = async () => {
    for (let n = 0; n < 3; n += 1) await Promise.resolve();
  };
  for (let n = 0; n < 6; n += 1) request(`urgent ${n}`, { kind: 'urgent' });
  request('resync');
  request('urgent 6', { kind: 'urgent' });
  await inThisIteration();
  assert.deepEqual(granted, ['urgent 0', 'urgent 1', 'urgent 2', 'urgent 3']);
  await nextIteration();
  assert.deepEqual(granted.slice(4), ['urgent 4', 'urgent 5', 'urgent 6', 'resync']);
});

test('four new pods have a slot at a time, by priority and age; each start permit lets in the next pod', async () => {
  const { request, takeGranted, stopCounting, release } = await someSlots();
  for (let n = 0; n < 5; n += 1) request(`new ${n}`, { kind: 'new', podSeenAtMs: 9 - n });
  request('system', { kind: 'new', priority: 5, podSeenAtMs: 99 });
  assert.deepEqual(await takeGranted(), ['new 0', 'new 1', 'new 2', 'new 3', 'system']);
  await nextIteration();
  stopCounting('new 2');
  stopCounting('new 2');
  assert.deepEqual(await takeGranted(), []);
  stopCounting('system');
  assert.deepEqual(await takeGranted(), ['new 4']);
  for (const [name, podSeenAtMs] of [
    ['young', 2],
    ['old', 1],
  ] as const)
    request(name, { kind: 'new', podSeenAtMs });
  await nextIteration();
  assert.deepEqual(await takeGranted(), []);
  release('new 0');
  release('new 1');
  assert.deepEqual(await takeGranted(), ['old', 'young']);
});

for (const [startLimit, newPods] of [
  [6, 6],
  [1, 2],
] as const) {
  test(`${newPods} new pods have a slot at a time with a start limit of ${startLimit}`, async () => {
    const { request, takeGranted } = await someSlots({ startLimit });
    for (let n = 0; n < 9; n += 1) request(`new ${n}`, { kind: 'new' });
    await nextIteration();
    await nextIteration();
    assert.equal((await takeGranted()).length, newPods);
  });
}

test('an urgent sync does not wait for new pods', async () => {
  const { request, takeGranted } = await someSlots();
  for (let n = 0; n < 6; n += 1) request(`new ${n}`, { kind: 'new' });
  assert.equal((await takeGranted()).length, 4);
  await nextIteration();
  request('crashed', { kind: 'urgent' });
  assert.deepEqual(await takeGranted(), ['crashed']);
});

test('the slot of a new pod counts for one second', async () => {
  const { clock, request, takeGranted } = await someSlots();
  for (let n = 0; n < 5; n += 1) request(`new ${n}`, { kind: 'new' });
  assert.equal((await takeGranted()).length, 4);
  await nextIteration();
  await clock.advance(999);
  assert.deepEqual(await takeGranted(), []);
  await clock.advance(1);
  assert.deepEqual(await takeGranted(), ['new 4']);
});

test('the slot of a new pod that waits only for its start permit counts until the permit, for ten seconds at most', async () => {
  const { clock, request, takeGranted, extend, stopCounting } = await someSlots();
  for (let n = 0; n < 6; n += 1) request(`new ${n}`, { kind: 'new' });
  assert.equal((await takeGranted()).length, 4);
  await nextIteration();
  for (let n = 0; n < 4; n += 1) extend(`new ${n}`);
  await clock.advance(9_999);
  assert.deepEqual(await takeGranted(), []);
  stopCounting('new 1');
  assert.deepEqual(await takeGranted(), ['new 4']);
  await clock.advance(1);
  assert.deepEqual(await takeGranted(), ['new 5']);
});

test('the first resync waits 200 ms for the other pods of a new kubelet', async () => {
  const { clock, request, takeGranted } = await someSlots({ isStarted: false });
  request('resync');
  request('new', { kind: 'new' });
  assert.deepEqual(await takeGranted(), ['new']);
  await clock.advance(199);
  assert.deepEqual(await takeGranted(), []);
  await clock.advance(1);
  assert.deepEqual(await takeGranted(), ['resync']);
});

test('four resyncs have a slot at a time; each release lets in the next resync', async () => {
  const { request, takeGranted, release } = await someSlots();
  for (let n = 0; n < 6; n += 1) request(`resync ${n}`);
  assert.deepEqual(await takeGranted(), ['resync 0', 'resync 1', 'resync 2', 'resync 3']);
  await nextIteration();
  assert.deepEqual(await takeGranted(), []);
  release('resync 2');
  release('resync 2');
  assert.deepEqual(await takeGranted(), ['resync 4']);
});

test('while another sync has something to do, one resync at a time begins, at most one per 100 ms', async () => {
  const { clock, request, takeGranted, release } = await someSlots();
  request('urgent', { kind: 'urgent' });
  for (let n = 0; n < 6; n += 1) request(`resync ${n}`);
  assert.deepEqual(await takeGranted(), ['urgent', 'resync 0']);
  release('resync 0');
  assert.deepEqual(await takeGranted(), []);
  await clock.advance(100);
  assert.deepEqual(await takeGranted(), ['resync 1']);
  release('resync 1');
  await clock.advance(99);
  assert.deepEqual(await takeGranted(), []);
  await clock.advance(1);
  assert.deepEqual(await takeGranted(), ['resync 2']);
  await nextIteration();
  release('urgent');
  assert.deepEqual(await takeGranted(), ['resync 3', 'resync 4', 'resync 5']);
});

test('a new pod with a start permit slows down resyncs for two seconds', async () => {
  const { clock, request, takeGranted, release, stopCounting } = await someSlots();
  request('new', { kind: 'new' });
  stopCounting('new');
  for (let n = 0; n < 2; n += 1) request(`resync ${n}`);
  assert.deepEqual(await takeGranted(), ['new', 'resync 0']);
  release('resync 0');
  await clock.advance(99);
  assert.deepEqual(await takeGranted(), []);
  await clock.advance(1);
  assert.deepEqual(await takeGranted(), ['resync 1']);
  await clock.advance(1900);
  release('resync 1');
  await nextIteration();
  for (let n = 2; n < 6; n += 1) request(`resync ${n}`);
  assert.deepEqual(await takeGranted(), ['resync 2', 'resync 3', 'resync 4', 'resync 5']);
});

test('a resync stops counting after 100 ms', async () => {
  const { clock, request, takeGranted, release } = await someSlots();
  for (let n = 0; n < 9; n += 1) request(`resync ${n}`);
  assert.equal((await takeGranted()).length, 4);
  await nextIteration();
  await clock.advance(100);
  assert.equal((await takeGranted()).length, 4);
  release('resync 0');
  await nextIteration();
  assert.deepEqual(await takeGranted(), []);
  release('resync 4');
  assert.deepEqual(await takeGranted(), ['resync 8']);
});

test('a prioritized request is granted at once, and a released request leaves the queue', async () => {
  const { request, takeGranted, release, prioritize } = await someSlots();
  for (let n = 0; n < 7; n += 1) request(`resync ${n}`);
  assert.equal((await takeGranted()).length, 4);
  await nextIteration();
  prioritize('resync 6');
  assert.deepEqual(await takeGranted(), ['resync 6']);
  release('resync 4');
  release('resync 0');
  release('resync 6');
  assert.deepEqual(await takeGranted(), ['resync 5']);
});

test('a small new pod waits for no slot of a large one, unless the large one is more important', async () => {
  const { request, takeGranted, stopCounting } = await someSlots({ startLimit: 2 });
  for (let n = 0; n < 4; n += 1) request(`large ${n}`, { kind: 'new', large: true });
  assert.deepEqual(await takeGranted(), ['large 0', 'large 1']);
  for (let n = 0; n < 3; n += 1) request(`small ${n}`, { kind: 'new', podSeenAtMs: 9 });
  await nextIteration();
  assert.deepEqual(await takeGranted(), ['small 0', 'small 1']);
  stopCounting('large 0');
  stopCounting('small 0');
  await nextIteration();
  assert.deepEqual(await takeGranted(), ['small 2']);
  for (const name of ['large 1', 'small 1', 'small 2']) stopCounting(name);
  await nextIteration();
  assert.deepEqual(await takeGranted(), ['large 2', 'large 3']);
});

test('a small new pod waits for the slots of large pods with a higher priority', async () => {
  const { request, takeGranted } = await someSlots({ startLimit: 2 });
  for (let n = 0; n < 3; n += 1) request(`large ${n}`, { kind: 'new', large: true, priority: 5 });
  request('small', { kind: 'new' });
  await nextIteration();
  assert.deepEqual(await takeGranted(), ['large 0', 'large 1']);
});
