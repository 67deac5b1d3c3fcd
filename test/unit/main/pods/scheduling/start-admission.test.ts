import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { StartAdmission, type StartPermit, type StartRequest } from '../../../../../src/main/pods/scheduling/start-admission.ts';
import { startPermitsWaiting } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const never = new AbortController().signal;
// A hook outside would run around the tests of every file: they share one process.
describe('the admission of starts', () => {
  afterEach(() => bindMetrics(null));

  function anAdmission(limit: number) {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: limit, bounds: { min: limit, max: limit } });
    const granted: string[] = [];
    const permits = new Map<string, StartPermit>();
    const ask = (name: string, request: Partial<StartRequest> = {}, signal = never) => {
      const whole: StartRequest = { kind: 'sandbox', restart: false, critical: false, priority: 0, podSeenAtMs: 0, ...request };
      const take = (permit: StartPermit) => {
        permits.set(name, permit);
        return granted.push(name);
      };
      admission.acquire(whole, signal).then(take, () => granted.push(`${name} gave up`));
    };
    const end = async (name: string, succeeded = true) => {
      permits.get(name)!.release(succeeded);
      await settle();
    };
    return { clock, admission, granted, ask, end, permits };
  }

  test('no more starts are let in than the limit, and each end lets the next one in', async () => {
    const { granted, ask, end } = anAdmission(2);
    for (const name of ['a', 'b', 'c']) ask(name);
    await settle();
    assert.deepEqual(granted, ['a', 'b']);
    await end('a');
    assert.deepEqual(granted, ['a', 'b', 'c']);
  });

  test('a place that a sandbox passes on is not free until its container has ended too', async () => {
    const { admission, granted, ask, end, permits } = anAdmission(2);
    for (const name of ['a', 'b', 'c']) ask(name);
    await settle();
    permits.get('a')!.transfer();
    await settle();
    assert.deepEqual([granted, admission.inFlight], [['a', 'b'], 2]);
    await end('a');
    assert.deepEqual(granted, ['a', 'b', 'c']);
  });

  function aBurst() {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const permits: StartPermit[] = [];
    const ask = (kind: StartRequest['kind'], pods: number) => {
      const request = { kind, restart: false, critical: false, priority: 0, podSeenAtMs: 0 };
      for (let n = 0; n < pods; n += 1) void admission.acquire(request, never).then((permit) => permits.push(permit));
      return settle();
    };
    /** The oldest of them. */
    const end = async () => {
      permits.shift()!.release(true);
      await settle();
    };
    return { clock, admission, permits, ask, end };
  }

  test('a burst begins with as many as there are cores; each pod that got through lets in two more, up to the limit', async () => {
    const { admission, ask, end } = aBurst();
    await ask('container', 40);
    const inFlight: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      inFlight.push(admission.inFlight);
      await end();
    }
    assert.deepEqual(inFlight, [2, 4, 6, 6, 6, 6]);
  });

  test('until then a sandbox leaves its place to the container of its pod', async () => {
    const { clock, admission, permits, ask, end } = aBurst();
    await ask('sandbox', 10);
    await end();
    await clock.advance(199);
    assert.deepEqual([admission.inFlight, permits.length], [2, 1]);
    await ask('container', 1);
    assert.deepEqual([admission.inFlight, permits.length], [2, 2]);
    await clock.advance(200);
    assert.deepEqual([admission.inFlight, permits.length], [2, 2]);
  });

  test('a pod that does not want it soon, since it waits for its image, gives it up to the next sandboxes', async () => {
    const { clock, admission, permits, ask, end } = aBurst();
    await ask('sandbox', 10);
    await end();
    await clock.advance(200);
    assert.deepEqual([admission.inFlight, permits.length], [3, 3]);
  });

  test('a start that may go ahead at once is let in without a wait, and never before those that wait', async () => {
    const { admission, granted, ask, end } = anAdmission(1);
    const request = { kind: 'sandbox', restart: false, critical: false, priority: 0, podSeenAtMs: 0 } as const;
    const permit = admission.tryAcquire(request);
    assert.ok(permit);
    assert.equal(admission.tryAcquire(request), null);
    ask('waits');
    permit.release(true);
    await settle();
    assert.deepEqual([granted, admission.inFlight], [['waits'], 1]);
    ask('waits too');
    await end('waits');
    assert.equal(admission.tryAcquire(request), null);
  });

  test('the more important pod goes first, then the older one', async () => {
    const { granted, ask, end } = anAdmission(1);
    ask('running');
    ask('young', { podSeenAtMs: 2 });
    ask('old', { podSeenAtMs: 1 });
    ask('critical', { podSeenAtMs: 3, priority: 2_000_000_000 });
    await settle();
    for (const name of ['running', 'critical', 'old']) await end(name);
    assert.deepEqual(granted, ['running', 'critical', 'old', 'young']);
  });

  test('the container of a pod that has its sandbox goes before the sandboxes of pods that came at the same time', async () => {
    const { granted, ask, end } = anAdmission(1);
    ask('first sandbox', { podSeenAtMs: 1 });
    ask('second sandbox', { podSeenAtMs: 1 });
    await settle();
    ask('first container', { kind: 'container', podSeenAtMs: 1 });
    await end('first sandbox');
    assert.deepEqual(granted, ['first sandbox', 'first container']);
  });

  test('a restart does not wait behind a burst', async () => {
    const { granted, ask, end } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) ask(name);
    for (const name of ['r1', 'r2', 'r3']) ask(name, { kind: 'container', restart: true });
    await settle();
    assert.deepEqual(granted, ['a', 'r1', 'r2']);
    await end('r1');
    assert.deepEqual(granted, ['a', 'r1', 'r2', 'r3']);
  });

  test('a permit that is given back twice counts once', async () => {
    const { admission, granted, ask, end } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) ask(name);
    await settle();
    await end('a');
    await end('a');
    assert.deepEqual(granted, ['a', 'b']);
    assert.equal(admission.inFlight, 1);
  });

  test('a start that hangs stops counting after three seconds, and the next one goes ahead', async () => {
    const { clock, admission, granted, ask } = anAdmission(2);
    for (const name of ['a', 'b', 'c', 'd', 'e']) ask(name);
    await clock.advance(2_999);
    assert.deepEqual([granted, admission.inFlight, admission.hung], [['a', 'b'], 2, 0]);
    await clock.advance(1);
    assert.deepEqual([granted, admission.inFlight, admission.hung], [['a', 'b', 'c', 'd'], 2, 2]);
  });

  test('a start that hung and ends after all gives no place back a second time', async () => {
    const { clock, admission, granted, ask, end } = anAdmission(1);
    for (const name of ['a', 'b', 'c']) ask(name);
    await clock.advance(3_000);
    await end('a');
    assert.deepEqual([granted, admission.inFlight, admission.hung], [['a', 'b'], 1, 0]);
  });

  test('fifty hung starts leave the whole limit to the pods that come after them', async () => {
    const { clock, admission, granted, ask, end } = anAdmission(2);
    for (let pod = 0; pod < 50; pod += 1) ask(`hung-${pod}`);
    await clock.advance(25 * 3_000);
    assert.deepEqual([admission.inFlight, admission.hung], [0, 50]);
    for (const name of ['a', 'b', 'c']) ask(name);
    await settle();
    assert.deepEqual(granted.slice(50), ['a', 'b']);
    await end('a');
    assert.deepEqual(granted.slice(50), ['a', 'b', 'c']);
  });

  for (const { limit, most } of [
    { limit: 6, most: 92 },
    { limit: 64, most: 154 },
  ]) {
    test(`a runtime that ends no start, ${limit} at a time, has no more than ${most} of a thousand at any time`, async () => {
      const { clock, admission } = anAdmission(limit);
      const request = { kind: 'sandbox', restart: false, critical: false, priority: 0, podSeenAtMs: 0 } as const;
      for (let pod = 0; pod < 1_000; pod += 1) {
        // The deadline of RunPodSandbox.
        void admission.acquire(request, never).then((permit) => clock.after(240_000, () => permit.release(false)));
      }
      let reached = 0;
      for (let second = 0; second < 600; second += 1) {
        await clock.advance(1_000);
        reached = Math.max(reached, admission.hung + admission.inFlight);
      }
      assert.equal(reached, most);
    });
  }

  test('a critical pod goes beside a full house of other pods, and waits for no more than a second behind its own kind', async () => {
    const { clock, granted, ask, end } = anAdmission(1);
    ask('hangs');
    ask('waits');
    ask('critical', { critical: true, priority: 2_000_000_000 });
    ask('critical too', { critical: true, priority: 2_000_000_000 });
    await settle();
    assert.deepEqual(granted, ['hangs', 'critical']);
    await clock.advance(1_000);
    assert.deepEqual(granted, ['hangs', 'critical', 'critical too']);
    await end('critical too');
    assert.equal(granted.length, 3);
  });

  test('a critical pod goes ahead also behind restarts that have to wait', async () => {
    const { granted, ask } = anAdmission(1);
    ask('hangs');
    for (const name of ['r1', 'r2', 'r3']) ask(name, { kind: 'container', restart: true });
    ask('critical', { critical: true, priority: 2_000_000_000 });
    await settle();
    assert.deepEqual(granted, ['hangs', 'r1', 'r2', 'critical']);
  });

  test('a start that nobody wants any more counts no longer, though it has not ended', async () => {
    const { admission, granted, ask, end, permits } = anAdmission(1);
    for (const name of ['deleted', 'b', 'c']) ask(name);
    await settle();
    permits.get('deleted')!.stopCounting();
    permits.get('deleted')!.stopCounting();
    await settle();
    assert.deepEqual([granted, admission.hung], [['deleted', 'b'], 1]);
    await end('deleted');
    assert.deepEqual([granted, admission.hung, admission.inFlight], [['deleted', 'b'], 0, 1]);
  });

  test('a sandbox that hung and was made at last counts again with the container that takes its place', async () => {
    const { clock, admission, ask, end, permits } = anAdmission(1);
    ask('a');
    await clock.advance(3_000);
    permits.get('a')!.transfer();
    assert.deepEqual([admission.inFlight, admission.hung], [1, 0]);
    await end('a');
    assert.deepEqual([admission.inFlight, admission.hung], [0, 0]);
  });

  test('a node whose only starts hang is calm', async () => {
    const { clock, admission, ask } = anAdmission(1);
    ask('a');
    await clock.advance(3_000);
    await admission.untilIdle(never);
  });

  test('where all starts are slow, none of them hangs', async () => {
    const { clock, admission, ask, end } = anAdmission(1);
    ask('slow');
    await clock.advance(2_500);
    await end('slow');
    ask('slow too');
    await clock.advance(9_999);
    assert.deepEqual([admission.inFlight, admission.hung], [1, 0]);
    await clock.advance(1);
    assert.deepEqual([admission.inFlight, admission.hung], [0, 1]);
  });

  test('the limit is not judged by a time in which places hung, nor by starts that end long after', async () => {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const hung: StartPermit[] = [];
    const request = { kind: 'sandbox', restart: false, critical: false, priority: 0, podSeenAtMs: 0 } as const;
    for (let pod = 0; pod < 60; pod += 1) void admission.acquire(request, never).then((permit) => hung.push(permit));
    for (let second = 0; second < 20; second += 1) await clock.advance(1_000);
    assert.ok(hung.length > 12, `${hung.length}`);
    const { limit } = admission;
    for (const permit of hung) permit.release(true);
    await settle();
    assert.equal(admission.limit, limit);
  });

  test('a sync that is stopped gives up its place in the queue', async () => {
    const { admission, granted, ask, end } = anAdmission(1);
    const stop = new AbortController();
    ask('a');
    ask('b', {}, stop.signal);
    ask('c');
    await settle();
    stop.abort(new Error('stopped'));
    await end('a');
    assert.deepEqual(granted, ['a', 'b gave up', 'c']);
    assert.equal(admission.waiting, 0);
  });

  test('a burst finds the parallelism at which the runtime is fastest', async () => {
    const clock = new FakeClock();
    const admission = new StartAdmission({ clock, cores: 2 });
    const starts = Array.from({ length: 300 }, async (_, pod) => {
      const permit = await admission.acquire({ kind: 'sandbox', restart: false, critical: false, priority: 0, podSeenAtMs: pod }, never);
      const inFlight = admission.inFlight;
      // 100 ms alone; up to 8 at a time cost half as much more each, beyond that each costs more than it brings.
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

  test('who gave up is not counted among those that wait', async () => {
    const segment = createMetricsSegment();
    bindMetrics(segment);
    const { ask } = anAdmission(1);
    const stop = new AbortController();
    ask('running');
    ask('waiting', {}, stop.signal);
    stop.abort();
    await settle();
    assert.match(renderMetrics([segment], [startPermitsWaiting]), /^kubelet_start_permits_waiting 0$/m);
  });
});
