import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trafficClasses, type TrafficClass } from '../../../../../src/main/api/api-client.ts';
import { createLanes } from '../../../../../src/main/api/http/lanes.ts';
import { RequestLane } from '../../../../../src/main/api/http/request-lane.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const never = new AbortController().signal;

/** Queues the entries in a lane without a free slot, with a delay before each, then releases slots one by one. Returns the order. */
async function order(entries: readonly { readonly name: string; readonly rank: number; readonly afterMs?: number }[]): Promise<string[]> {
  const clock = new FakeClock();
  const lane = new RequestLane({ limit: null, slots: 1, maxQueued: 100, clock });
  const leave = await lane.acquire(0, never);
  const seen: string[] = [];
  const done = [];
  for (const { name, rank, afterMs = 0 } of entries) {
    await clock.advance(afterMs);
    done.push(lane.acquire(rank, never).then((leaveNext) => (seen.push(name), leaveNext())));
  }
  leave();
  await Promise.all(done);
  return seen;
}

test('the higher class goes first, and within a class the earlier call', async () => {
  const entries = [
    { name: 'pods 1', rank: 5 },
    { name: 'pods 2', rank: 5 },
    { name: 'status', rank: 3 },
    { name: 'review', rank: 2 },
  ];
  assert.deepEqual(await order(entries), ['review', 'status', 'pods 1', 'pods 2']);
});

test('a storm of reviews does not starve a status: reviews that arrive a second later wait', async () => {
  const entries = [
    { name: 'status', rank: 3 },
    { name: 'review now', rank: 2, afterMs: 900 },
    { name: 'review later', rank: 2, afterMs: 200 },
  ];
  assert.deepEqual(await order(entries), ['review now', 'status', 'review later']);
});

test('calls are sent at the configured rate', async () => {
  const clock = new FakeClock();
  const lane = new RequestLane({ limit: { qps: 10, burst: 2 }, slots: 100, maxQueued: 100, clock });
  let entered = 0;
  for (let i = 0; i < 5; i += 1) void lane.acquire(0, never).then((leave) => ((entered += 1), leave()));
  const seen = [];
  for (let step = 0; step < 5; step += 1) {
    await settle();
    seen.push(entered);
    await clock.advance(100);
  }
  assert.deepEqual(seen, [2, 3, 4, 5, 5]);
});

test('an aborted call leaves the queue and consumes no token', async () => {
  const clock = new FakeClock();
  const lane = new RequestLane({ limit: { qps: 1, burst: 1 }, slots: 1, maxQueued: 100, clock });
  const leave = await lane.acquire(0, never);
  leave();
  const controller = new AbortController();
  const first = lane.acquire(0, controller.signal);
  const second = lane.acquire(0, never);
  controller.abort(new Error('enough'));
  await assert.rejects(first, { message: 'enough' });
  await clock.advance(1_000);
  (await second)();
});

test('releasing a slot twice frees one slot', async () => {
  const lane = new RequestLane({ limit: null, slots: 1, maxQueued: 100, clock: new FakeClock() });
  const leave = await lane.acquire(0, never);
  leave();
  leave();
  await lane.acquire(0, never);
  let isIn = false;
  void lane.acquire(0, never).then(() => (isIn = true));
  await settle();
  assert.equal(isIn, false);
});

test('a full lane rejects calls, and a closed lane rejects all queued calls', async () => {
  const lane = new RequestLane({ limit: null, slots: 1, maxQueued: 1, clock: new FakeClock() });
  await lane.acquire(0, never);
  const waiting = lane.acquire(0, never);
  await assert.rejects(lane.acquire(0, never), { reason: 'TooManyRequests' });
  lane.close(new Error('closed'));
  await assert.rejects(waiting, { message: 'closed' });
  await assert.rejects(lane.acquire(0, never), { message: 'closed' });
});

test('heartbeats have a lane without a rate limit, each kind of review and events have separate lanes, and the rest share one', () => {
  const lanes = createLanes({ limit: { qps: 50, burst: 100 }, eventLimit: { qps: 50, burst: 100 }, clock: new FakeClock() });
  const shared = (a: TrafficClass, b: TrafficClass) => lanes.forClass(a).lane === lanes.forClass(b).lane;
  assert.deepEqual(
    trafficClasses.map((name) => trafficClasses.filter((other) => shared(name, other)).join()),
    ['lease,node', 'lease,node', 'accessReview', 'tokenReview', ...Array(3).fill('status,objects,pods'), 'events'],
  );
});

test('a flood of token reviews delays neither a status nor an access review', async () => {
  const lanes = createLanes({ limit: { qps: 1, burst: 1 }, eventLimit: { qps: 1, burst: 1 }, clock: new FakeClock() });
  const enter = (name: TrafficClass) => {
    const { lane, rank } = lanes.forClass(name);
    return lane.acquire(rank, never);
  };
  for (let i = 0; i < 1000; i += 1) enter('tokenReview').catch(() => {});
  let entered = 0;
  for (const name of ['status', 'accessReview', 'lease'] as const) void enter(name).then(() => (entered += 1));
  await settle();
  assert.equal(entered, 3);
});

test('a changed limit counts at once, also for calls that wait already', async () => {
  const clock = new FakeClock();
  const lanes = createLanes({ limit: { qps: 1, burst: 1 }, eventLimit: { qps: 1, burst: 1 }, clock });
  const entered: Record<string, number> = { pods: 0, events: 0, lease: 0 };
  for (const name of ['pods', 'events', 'lease'] as const) {
    const { lane, rank } = lanes.forClass(name);
    for (let i = 0; i < 20; i += 1) void lane.acquire(rank, never).then((leave) => ((entered[name] = (entered[name] ?? 0) + 1), leave()));
  }
  await settle();
  // Heartbeats have no limit.
  assert.deepEqual([entered['pods'], entered['events']], [1, 1]);
  lanes.setLimits({ limit: { qps: 100, burst: 10 }, eventLimit: { qps: 1, burst: 1 } });
  await clock.advance(100);
  assert.deepEqual([entered['pods'], entered['events']], [11, 1]);
  await clock.advance(900);
  assert.deepEqual([entered['pods'], entered['events'], entered['lease']], [20, 2, 20]);
});

test('the many calls of one pod wait behind the few of another, and lose nothing when there is no other', async () => {
  const clock = new FakeClock();
  const lane = new RequestLane({ limit: { qps: 50, burst: 1 }, slots: 32, maxQueued: 10_000, clock });
  const entered: string[] = [];
  const enter = (podUID: string, times: number) => {
    for (let i = 0; i < times; i += 1) void lane.acquire(0, never, podUID).then((leave) => (entered.push(podUID), leave()));
  };
  enter('many', 500);
  enter('few', 10);
  await clock.advance(500);
  assert.deepEqual([entered.length, entered.filter((name) => name === 'few').length], [26, 10]);
  enter('another', 1);
  await clock.advance(20);
  assert.equal(entered.at(-1), 'another');
  await clock.advance(10_000);
  assert.equal(entered.length, 511);
  enter('many', 1);
  await clock.advance(20);
  assert.equal(entered.length, 512);
});

test('eventRecordQPS 0 is no limit, kubeAPIQPS 0 is the default rate', async () => {
  const clock = new FakeClock();
  const none = { qps: 0, burst: 1 };
  const lanes = createLanes({ limit: none, eventLimit: none, clock });
  const entered = { events: 0, pods: 0 };
  for (const trafficClass of ['events', 'pods'] as const) {
    for (let i = 0; i < 5; i += 1) {
      void lanes
        .forClass(trafficClass)
        .lane.acquire(0, never)
        .then((leave) => ((entered[trafficClass] += 1), leave()));
    }
  }
  await settle();
  assert.deepEqual(entered, { events: 5, pods: 1 });
});
