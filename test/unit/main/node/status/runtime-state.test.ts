import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeState } from '../../../../../src/main/node/status/runtime-state.ts';
import type { RuntimeInfo } from '../../../../../src/shared/contracts/pleg.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const condition = (type: string, status: boolean) => ({ type, status, reason: status ? '' : 'Broken', message: status ? '' : 'no plugin' });
const facts = (runtimeReady = true, networkReady = true): RuntimeInfo => ({
  runtimeName: 'containerd',
  runtimeVersion: '2.0.0',
  runtimeApiVersion: 'v1',
  handlers: [],
  conditions: [condition('RuntimeReady', runtimeReady), condition('NetworkReady', networkReady)],
  cgroupDriver: null,
});

function aRuntime(answer: () => RuntimeInfo) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  const notified = { recovered: 0 };
  const state = new RuntimeState({ fetchInfo: async () => answer(), clock, logger });
  state.onRecovered(() => (notified.recovered += 1));
  return { clock, lines, stop, notified, state };
}
const away = (): RuntimeInfo => {
  throw new Error('connect ENOENT');
};

test('an unavailable runtime is polled repeatedly at start, and logged once', async () => {
  let answer = away;
  const { clock, lines, stop, state } = aRuntime(() => answer());
  const answered = state.untilFirstStatus(stop.signal);
  await clock.advance(60_000);
  assert.equal(state.errors(), 'container runtime status check may not have completed yet');
  assert.deepEqual(
    lines.map(({ err }) => err),
    ['container runtime does not answer: connect ENOENT'],
  );
  answer = () => facts();
  await clock.advance(5000);
  assert.equal((await answered).runtimeName, 'containerd');
  assert.equal(state.errors(), null);
});

test('the wait for the first status ends when the kubelet stops', async () => {
  const { stop, state } = aRuntime(away);
  const answered = state.untilFirstStatus(stop.signal);
  await settle();
  stop.abort(new Error('SIGTERM'));
  await assert.rejects(answered, /SIGTERM/);
});

test('a runtime that stops responding is down after half a minute, and its recovery wakes the pods', async () => {
  let answer = () => facts();
  const { clock, stop, notified, state } = aRuntime(() => answer());
  await state.untilFirstStatus(stop.signal);
  const watching = state.watch(stop.signal);
  answer = away;
  await clock.advance(29_000);
  assert.equal(state.errors(), null);
  await clock.advance(6000);
  assert.equal(state.errors(), 'container runtime is down');
  answer = () => facts();
  await clock.advance(1000);
  assert.equal(state.errors(), null);
  assert.equal(notified.recovered, 1);
  // The second notification, for pods whose connections were still broken.
  await clock.advance(4000);
  assert.equal(notified.recovered, 2);
  stop.abort();
  await watching;
});

test('a network that is not ready blocks only pods without the host’s network', async () => {
  const { stop, state } = aRuntime(() => facts(true, false));
  await state.untilFirstStatus(stop.signal);
  assert.equal(state.errors(), null);
  assert.equal(state.networkErrors(), 'container runtime network not ready: NetworkReady=false reason:Broken message:no plugin');
});

test('a runtime that is not ready blocks the sync loop', async () => {
  const { stop, state } = aRuntime(() => facts(false));
  await state.untilFirstStatus(stop.signal);
  assert.equal(state.errors(), 'container runtime not ready: RuntimeReady=false reason:Broken message:no plugin');
});

test('an outage that only a failing pod noticed is detected at once, and its end wakes the pods', async () => {
  let answer = () => facts();
  const { clock, stop, notified, state } = aRuntime(() => answer());
  await state.untilFirstStatus(stop.signal);
  const watching = state.watch(stop.signal);
  await clock.advance(1500);
  answer = away;
  state.checkSoon();
  await clock.advance(500);
  answer = () => facts();
  await clock.advance(1000);
  assert.equal(notified.recovered, 1);
  stop.abort();
  await watching;
});

test('a healthy runtime is polled at most once a second, however many requests fail', async () => {
  let asked = 0;
  const { clock, stop, notified, state } = aRuntime(() => {
    asked += 1;
    return facts();
  });
  await state.untilFirstStatus(stop.signal);
  const watching = state.watch(stop.signal);
  for (let failure = 0; failure < 40; failure += 1) {
    state.checkSoon();
    await clock.advance(250);
  }
  assert.ok(asked <= 11, `${asked} times`);
  assert.equal(notified.recovered, 0);
  stop.abort();
  await watching;
});

test('a runtime that is not ready for half a minute is down, with its reason', async () => {
  let ready = true;
  const { clock, stop, state } = aRuntime(() => facts(ready));
  assert.deepEqual(
    [state.problems(), state.networkErrors()],
    [['container runtime status check may not have completed yet'], 'network state unknown'],
  );
  await state.untilFirstStatus(stop.signal);
  assert.deepEqual(state.problems(), []);
  const watching = state.watch(stop.signal);
  ready = false;
  const notReady = 'container runtime not ready: RuntimeReady=false reason:Broken message:no plugin';
  await clock.advance(10_000);
  assert.deepEqual(state.problems(), [notReady]);
  await clock.advance(30_000);
  assert.deepEqual(state.problems(), ['container runtime is down', notReady]);
  stop.abort();
  await watching;
});

test('a poll that the kubelet’s shutdown interrupts is not logged as a problem', async () => {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  const asked = Promise.withResolvers<RuntimeInfo>();
  const state = new RuntimeState({ fetchInfo: () => asked.promise, clock, logger });
  const watching = state.watch(stop.signal);
  await clock.advance(10_000);
  stop.abort(new Error('SIGTERM'));
  asked.reject(new Error('Status: rpc error: code = Cancelled desc = Call cancelled'));
  await watching;
  assert.deepEqual(lines, []);
});
