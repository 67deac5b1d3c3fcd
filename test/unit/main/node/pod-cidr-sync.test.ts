import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { PodCIDRSync } from '../../../../src/main/node/pod-cidr-sync.ts';
import type { UpdateRuntimeConfigResult } from '../../../../src/shared/contracts/pod-sync/runtime-config.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

function aSync(t: TestContext) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  t.after(() => stop.abort());
  const sent: string[] = [];
  const replies: (UpdateRuntimeConfigResult | Error)[] = [];
  const update = async (podCIDR: string): Promise<UpdateRuntimeConfigResult> => {
    sent.push(podCIDR);
    const reply = replies.shift() ?? { result: 'updated' };
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const podCIDR = new PodCIDRSync({ update, clock, logger, signal: stop.signal });
  return { podCIDR, clock, lines, sent, replies, stop };
}

test('ranges are sent once, and again when they change and when the runtime has returned', async (t) => {
  const { podCIDR, sent } = aSync(t);
  podCIDR.set('');
  podCIDR.resend();
  for (let times = 0; times < 2; times += 1) podCIDR.set('10.0.0.0/24');
  await settle();
  assert.deepEqual(sent, ['10.0.0.0/24']);
  podCIDR.set('10.0.0.0/24,fd00::/64');
  await settle();
  podCIDR.set('');
  podCIDR.resend();
  await settle();
  assert.deepEqual(sent, ['10.0.0.0/24', '10.0.0.0/24,fd00::/64', '10.0.0.0/24,fd00::/64']);
});

test('a failure is logged once and tried again with back-off, at once when the runtime has returned', async (t) => {
  const { podCIDR, clock, sent, replies, lines } = aSync(t);
  replies.push({ result: 'failed', message: 'unavailable' }, new Error('unavailable'), { result: 'failed', message: 'unavailable' });
  podCIDR.set('10.0.0.0/24');
  await settle();
  assert.equal(sent.length, 1);
  await clock.advance(1200);
  assert.equal(sent.length, 2);
  await clock.advance(1500);
  assert.equal(sent.length, 2);
  await clock.advance(1000);
  assert.equal(sent.length, 3);
  podCIDR.resend();
  await clock.advance(10);
  assert.equal(sent.length, 4);
  await clock.advance(60_000);
  assert.equal(sent.length, 4);
  assert.equal(lines.filter(({ msg }) => msg === 'Pod CIDR update failed').length, 1);
});

test('a change during an attempt is sent after it, and nothing after the end', async (t) => {
  const { podCIDR, clock, sent, replies, stop } = aSync(t);
  podCIDR.set('10.0.0.0/24');
  podCIDR.set('10.0.1.0/24');
  await settle();
  assert.deepEqual(sent, ['10.0.0.0/24', '10.0.1.0/24']);
  replies.push({ result: 'failed', message: 'unavailable' });
  podCIDR.resend();
  await settle();
  stop.abort();
  await clock.advance(60_000);
  assert.equal(sent.length, 3);
});

test('a runtime without the call gets it no more until it has returned', async (t) => {
  const { podCIDR, clock, sent, replies } = aSync(t);
  replies.push({ result: 'unsupported' });
  podCIDR.set('10.0.0.0/24');
  await clock.advance(60_000);
  assert.equal(sent.length, 1);
  podCIDR.resend();
  await settle();
  assert.equal(sent.length, 2);
});
