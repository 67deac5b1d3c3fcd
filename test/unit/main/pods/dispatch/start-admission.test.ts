import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { StartAdmission } from '../../../../../src/main/pods/dispatch/start-admission.ts';
import type { StartPermit } from '../../../../../src/main/pods/dispatch/start-permit.ts';
import type { StartRequest } from '../../../../../src/main/pods/dispatch/start-request.ts';
import { startPermitsWaiting } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const never = new AbortController().signal;
const aRequest: StartRequest = { kind: 'sandbox', restart: false, critical: false, large: false, priority: 0, podSeenAtMs: 0 };
// All test files share one process: a hook outside of this suite would run for the tests of every file.
describe('start admission', () => {
  afterEach(() => bindMetrics(null));

  function anAdmission(limit: number) {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: limit, bounds: { min: limit, max: limit } });
    const granted: string[] = [];
    const permits = new Map<string, StartPermit>();
    const acquire = (name: string, request: Partial<StartRequest> = {}, signal = never) => {
      const onGranted = (permit: StartPermit) => {
        permits.set(name, permit);
        return granted.push(name);
      };
      admission.acquire({ ...aRequest, ...request }, signal).then(onGranted, () => granted.push(`${name} aborted`));
    };
    const release = async (name: string, succeeded = true) => {
      permits.get(name)!.release(succeeded);
      await settle();
    };
    return { clock, admission, granted, acquire, release, permits };
  }

  test('grants no more permits than the limit, and each release grants the next one', async () => {
    const { granted, acquire, release } = anAdmission(2);
    for (const name of ['a', 'b', 'c']) acquire(name);
    await settle();
    assert.deepEqual(granted, ['a', 'b']);
    await release('a');
    assert.deepEqual(granted, ['a', 'b', 'c']);
  });

  test('two small starts do not wait for the large ones that hold all permits', async () => {
    const { admission, granted, acquire, release } = anAdmission(2);
    for (const name of ['large 0', 'large 1', 'large 2']) acquire(name, { large: true, priority: 1 });
    for (const name of ['small 0', 'small 1', 'small 2']) acquire(name);
    await settle();
    assert.deepEqual([granted, admission.inFlight], [['large 0', 'large 1', 'small 0', 'small 1'], 4]);
    await release('small 0');
    assert.deepEqual(granted.slice(4), ['small 2']);
    await release('small 1');
    await release('small 2');
    await release('large 0');
    acquire('small 3');
    await settle();
    assert.deepEqual(granted.slice(5), ['large 2', 'small 3']);
    for (const name of ['large 1', 'large 2', 'small 3']) await release(name);
    for (const name of ['small 4', 'small 5', 'small 6']) acquire(name);
    await settle();
    assert.deepEqual([granted.slice(7), admission.inFlight], [['small 4', 'small 5'], 2]);
  });

  test('a permit that a sandbox transfers to its container is in use until the container has started', async () => {
    const { admission, granted, acquire, release, permits } = anAdmission(2);
    for (const name of ['a', 'b', 'c']) acquire(name);
    await settle();
    permits.get('a')!.transfer();
    await settle();
    assert.deepEqual([granted, admission.inFlight], [['a', 'b'], 2]);
    await release('a');
    assert.deepEqual(granted, ['a', 'b', 'c']);
  });

  function aBurst() {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const permits: StartPermit[] = [];
    const acquire = (kind: StartRequest['kind'], pods: number) => {
      for (let n = 0; n < pods; n += 1) void admission.acquire({ ...aRequest, kind }, never).then((permit) => permits.push(permit));
      return settle();
    };
    const releaseOldest = async () => {
      permits.shift()!.release(true);
      await settle();
    };
    return { clock, admission, permits, acquire, releaseOldest };
  }

  test('a burst begins with one start per core; each pod that starts adds two, up to the limit', async () => {
    const { admission, acquire, releaseOldest } = aBurst();
    await acquire('container', 40);
    const inFlight: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      inFlight.push(admission.inFlight);
      await releaseOldest();
    }
    assert.deepEqual(inFlight, [2, 4, 6, 6, 6, 6]);
  });

  test('during the ramp, the permit of a sandbox is reserved for the container of its pod', async () => {
    const { clock, admission, permits, acquire, releaseOldest } = aBurst();
    await acquire('sandbox', 10);
    await releaseOldest();
    await clock.advance(199);
    assert.deepEqual([admission.inFlight, permits.length], [2, 1]);
    await acquire('container', 1);
    assert.deepEqual([admission.inFlight, permits.length], [2, 2]);
    await clock.advance(200);
    assert.deepEqual([admission.inFlight, permits.length], [2, 2]);
  });

  test('a reservation that is not used within 200 ms goes to the next sandboxes', async () => {
    const { clock, admission, permits, acquire, releaseOldest } = aBurst();
    await acquire('sandbox', 10);
    await releaseOldest();
    await clock.advance(200);
    assert.deepEqual([admission.inFlight, permits.length], [3, 3]);
  });

  test('tryAcquire grants a free permit at once, and never overtakes requests that wait', async () => {
    const { admission, granted, acquire, release } = anAdmission(1);
    const permit = admission.tryAcquire(aRequest);
    assert.ok(permit);
    assert.equal(admission.tryAcquire(aRequest), null);
    acquire('waits');
    permit.release(true);
    await settle();
    assert.deepEqual([granted, admission.inFlight], [['waits'], 1]);
    acquire('waits too');
    await release('waits');
    assert.equal(admission.tryAcquire(aRequest), null);
  });

  test('the pod with the higher priority starts first, then the older pod', async () => {
    const { granted, acquire, release } = anAdmission(1);
    acquire('running');
    acquire('young', { podSeenAtMs: 2 });
    acquire('old', { podSeenAtMs: 1 });
    acquire('critical', { podSeenAtMs: 3, priority: 2_000_000_000 });
    await settle();
    for (const name of ['running', 'critical', 'old']) await release(name);
    assert.deepEqual(granted, ['running', 'critical', 'old', 'young']);
  });

  test('the container of a pod that has its sandbox starts before the sandboxes of pods of the same age', async () => {
    const { granted, acquire, release } = anAdmission(1);
    acquire('first sandbox', { podSeenAtMs: 1 });
    acquire('second sandbox', { podSeenAtMs: 1 });
    await settle();
    acquire('first container', { kind: 'container', podSeenAtMs: 1 });
    await release('first sandbox');
    assert.deepEqual(granted, ['first sandbox', 'first container']);
  });

  test('a restart does not wait behind a burst', async () => {
    const { granted, acquire, release } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) acquire(name);
    for (const name of ['r1', 'r2', 'r3']) acquire(name, { kind: 'container', restart: true });
    await settle();
    assert.deepEqual(granted, ['a', 'r1', 'r2']);
    await release('r1');
    assert.deepEqual(granted, ['a', 'r1', 'r2', 'r3']);
  });

  test('a second release of a permit has no effect', async () => {
    const { admission, granted, acquire, release } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) acquire(name);
    await settle();
    await release('a');
    await release('a');
    assert.deepEqual(granted, ['a', 'b']);
    assert.equal(admission.inFlight, 1);
  });

  test('a start that hangs stops counting after three seconds, and the next start begins', async () => {
    const { clock, admission, granted, acquire } = anAdmission(2);
    for (const name of ['a', 'b', 'c', 'd', 'e']) acquire(name);
    await clock.advance(2_999);
    assert.deepEqual([granted, admission.inFlight, admission.uncounted], [['a', 'b'], 2, 0]);
    await clock.advance(1);
    assert.deepEqual([granted, admission.inFlight, admission.uncounted], [['a', 'b', 'c', 'd'], 2, 2]);
  });

  test('a hung start that ends at last does not free a second permit', async () => {
    const { clock, admission, granted, acquire, release } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) acquire(name);
    await clock.advance(3_000);
    await release('a');
    assert.deepEqual([granted, admission.inFlight, admission.uncounted], [['a', 'b'], 1, 0]);
  });

  test('fifty hung starts leave the whole limit to later pods', async () => {
    const { clock, admission, granted, acquire, release } = anAdmission(2);
    for (let pod = 0; pod < 50; pod += 1) acquire(`hung-${pod}`);
    await clock.advance(25 * 3_000);
    assert.deepEqual([admission.inFlight, admission.uncounted], [0, 50]);
    for (const name of ['a', 'b', 'c']) acquire(name);
    await settle();
    assert.deepEqual(granted.slice(50), ['a', 'b']);
    await release('a');
    assert.deepEqual(granted.slice(50), ['a', 'b', 'c']);
  });

  for (const { limit, most } of [
    { limit: 6, most: 92 },
    { limit: 64, most: 154 },
  ]) {
    test(`a runtime that completes no start never has more than ${most} of a thousand in progress, with a limit of ${limit}`, async () => {
      const { clock, admission } = anAdmission(limit);
      for (let pod = 0; pod < 1_000; pod += 1) {
        // 240 s is the deadline of RunPodSandbox.
        void admission.acquire(aRequest, never).then((permit) => clock.after(240_000, () => permit.release(false)));
      }
      let reached = 0;
      for (let second = 0; second < 600; second += 1) {
        await clock.advance(1_000);
        reached = Math.max(reached, admission.uncounted + admission.inFlight);
      }
      assert.equal(reached, most);
    });
  }

  test('a critical pod starts although the common lane is full, and waits at most a second for other critical pods', async () => {
    const { clock, granted, acquire, release } = anAdmission(1);
    acquire('hangs');
    acquire('waits');
    acquire('critical', { critical: true, priority: 2_000_000_000 });
    acquire('critical too', { critical: true, priority: 2_000_000_000 });
    await settle();
    assert.deepEqual(granted, ['hangs', 'critical']);
    await clock.advance(1_000);
    assert.deepEqual(granted, ['hangs', 'critical', 'critical too']);
    await release('critical too');
    assert.equal(granted.length, 3);
  });

  test('a critical pod starts although restarts before it must wait', async () => {
    const { granted, acquire } = anAdmission(1);
    acquire('hangs');
    for (const name of ['r1', 'r2', 'r3']) acquire(name, { kind: 'container', restart: true });
    acquire('critical', { critical: true, priority: 2_000_000_000 });
    await settle();
    assert.deepEqual(granted, ['hangs', 'r1', 'r2', 'critical']);
  });

  test('a start whose result is not needed stops counting before it ends', async () => {
    const { admission, granted, acquire, release, permits } = anAdmission(1);
    for (const name of ['deleted', 'b', 'c']) acquire(name);
    await settle();
    permits.get('deleted')!.stopCounting();
    permits.get('deleted')!.stopCounting();
    await settle();
    assert.deepEqual([granted, admission.uncounted], [['deleted', 'b'], 1]);
    await release('deleted');
    assert.deepEqual([granted, admission.uncounted, admission.inFlight], [['deleted', 'b'], 0, 1]);
  });

  test('a hung sandbox that was created at last counts again when it transfers its permit to its container', async () => {
    const { clock, admission, acquire, release, permits } = anAdmission(1);
    acquire('a');
    await clock.advance(3_000);
    permits.get('a')!.transfer();
    assert.deepEqual([admission.inFlight, admission.uncounted], [1, 0]);
    await release('a');
    assert.deepEqual([admission.inFlight, admission.uncounted], [0, 0]);
  });

  test('a node is idle when all of its starts hang', async () => {
    const { clock, admission, acquire } = anAdmission(1);
    acquire('a');
    await clock.advance(3_000);
    await admission.untilIdle(never);
  });

  test('a start counts longer when all starts are slow', async () => {
    const { clock, admission, acquire, release } = anAdmission(1);
    acquire('slow');
    await clock.advance(2_500);
    await release('slow');
    acquire('slow too');
    await clock.advance(9_999);
    assert.deepEqual([admission.inFlight, admission.uncounted], [1, 0]);
    await clock.advance(1);
    assert.deepEqual([admission.inFlight, admission.uncounted], [0, 1]);
  });

  test('hung starts do not change the limit, neither while they hang nor when they end', async () => {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const hung: StartPermit[] = [];
    for (let pod = 0; pod < 60; pod += 1) void admission.acquire(aRequest, never).then((permit) => hung.push(permit));
    for (let second = 0; second < 20; second += 1) await clock.advance(1_000);
    assert.ok(hung.length > 12, `${hung.length}`);
    const { limit } = admission;
    for (const permit of hung) permit.release(true);
    await settle();
    assert.equal(admission.limit, limit);
  });

  test('an aborted request leaves the queue', async () => {
    const { admission, granted, acquire, release } = anAdmission(1);
    const stop = new AbortController();
    acquire('a');
    acquire('b', {}, stop.signal);
    acquire('c');
    await settle();
    stop.abort(new Error('stopped'));
    await release('a');
    assert.deepEqual(granted, ['a', 'b aborted', 'c']);
    assert.equal(admission.waiting, 0);
  });

  test('a burst finds the parallelism at which the runtime starts pods fastest', async () => {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const starts = Array.from({ length: 300 }, async (_, pod) => {
      const permit = await admission.acquire({ ...aRequest, podSeenAtMs: pod }, never);
      const inFlight = admission.inFlight;
      // A start takes 100 ms alone. Up to 8 at a time, each adds half of that; beyond 8, each further start lowers the rate.
      await clock.sleep(100 * (1 + 0.55 * (Math.min(inFlight, 8) - 1)) + Math.max(0, inFlight - 8) * 80);
      permit.release(true);
    });
    const state = { done: false };
    const all = Promise.all(starts).then(() => (state.done = true));
    while (!state.done) await clock.advance(1000);
    await all;
    assert.ok(admission.limit >= 4 && admission.limit <= 16, `stayed at ${admission.limit}`);
    assert.ok(clock.monotonic() < 23_000, `took ${clock.monotonic()} ms; at the best parallelism it is 19,000`);
  });

  test('an aborted request is not counted as waiting', async () => {
    const segment = createMetricsSegment();
    bindMetrics(segment);
    const { acquire } = anAdmission(1);
    const stop = new AbortController();
    acquire('running');
    acquire('waiting', {}, stop.signal);
    stop.abort();
    await settle();
    assert.match(renderMetrics([segment], [startPermitsWaiting]), /^kubelet_start_permits_waiting 0$/m);
  });
});
