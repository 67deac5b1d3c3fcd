import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { InspectionQueue, slowInspectionMs } from '../../../../../src/workers/pleg/inspection/inspection-queue.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

/** The test decides when an inspection ends. */
function aQueue() {
  const clock = new FakeClock();
  const started: string[] = [];
  const slow: string[] = [];
  const ends = new Map<string, () => void>();
  const startedForMain: string[] = [];
  const queue = new InspectionQueue({
    inspect: (uid, known, _observedAtMs, forMain) => {
      if (forMain) startedForMain.push(uid);
      if (known && 'created' in known)
        started.push([uid, 'with', known.created.sandbox?.id, ...known.created.containers.map(({ id }) => id)].join(' '));
      else started.push(known === undefined ? uid : `${uid} listed at ${known.listedAtMs}`);
      return new Promise((resolve) => ends.set(uid, resolve));
    },
    postPartialStatus: (uid) => void slow.push(uid),
    clock,
  });
  return {
    queue,
    clock,
    started,
    slow,
    end: (uid: string) => ends.get(uid)!(),
    startedForMain,
  };
}
const uid = (n: number) => `u${n}` as PodUID;

suite('the inspection queue', () => {
  test('limits parallel inspections; a slow one frees its slot and is reported', async () => {
    const { queue, clock, started, slow, end } = aQueue();
    for (let n = 0; n < 40; n += 1) void queue.inspect(uid(n));
    await settle();
    assert.equal(started.length, 16);
    end('u0');
    await settle();
    assert.equal(started.length, 17);
    await clock.advance(slowInspectionMs);
    assert.deepEqual([started.length, slow.length], [33, 16]);
    for (let n = 1; n < 17; n += 1) end(`u${n}`);
    await settle();
    assert.equal(started.length, 33);
    await clock.advance(slowInspectionMs);
    assert.equal(started.length, 40);
  });

  test('an inspection after a relist does not list the pod, unless another request requires that', async () => {
    const { queue, started, end } = aQueue();
    queue.inspectListed(uid(1), 500);
    queue.inspectListed(uid(2), 500);
    void queue.inspect(uid(2));
    await settle();
    assert.deepEqual(started, ['u1 listed at 500', 'u2']);
    queue.inspectListed(uid(1), 600);
    end('u1');
    await settle();
    assert.deepEqual(started, ['u1 listed at 500', 'u2', 'u1 listed at 600']);
  });

  test('an inspection with created objects does not list the pod, unless another request requires that', async () => {
    const { queue, started } = aQueue();
    const created = { sandbox: { id: 's1' as SandboxID, podName: 'p', podNamespace: 'n' }, containers: [] };
    void queue.inspect(uid(1), created);
    void queue.inspect(uid(2), created);
    void queue.inspect(uid(2));
    void queue.inspect(uid(3), created);
    queue.inspectListed(uid(3), 500);
    await settle();
    assert.deepEqual(started, ['u1 with s1', 'u2', 'u3']);
  });

  test('requests that share an inspection merge their created objects', async () => {
    const { queue, started } = aQueue();
    const sandboxID = 's1' as SandboxID;
    void queue.inspect(uid(1), { containers: [] });
    void queue.inspect(uid(1), { sandbox: { id: sandboxID, podName: 'p', podNamespace: 'n' }, containers: [] });
    void queue.inspect(uid(1), { containers: [{ id: 'c1' as ContainerID, sandboxID, name: 'app' }] });
    await settle();
    assert.deepEqual(started, ['u1 with s1 c1']);
  });

  test('an inspection is for main when main has requested it before its start', async () => {
    const { queue, started, startedForMain, end } = aQueue();
    void queue.inspect(uid(1));
    await settle();
    void queue.inspect(uid(1), { containers: [] }, true);
    assert.deepEqual(startedForMain, []);
    end('u1');
    await settle();
    assert.deepEqual([started, startedForMain], [['u1', 'u1 with '], ['u1']]);
    void queue.inspect(uid(1));
    end('u1');
    await settle();
    assert.deepEqual([started.length, startedForMain.length], [3, 1]);
  });

  test('an inspection that main shares with other requests is for main', async () => {
    const { queue, started, startedForMain } = aQueue();
    queue.inspectListed(uid(1), 500);
    void queue.inspect(uid(1), undefined, true);
    void queue.inspect(uid(1));
    await settle();
    assert.deepEqual([started, startedForMain], [['u1'], ['u1']]);
  });

  test('returns the inspections that main has no result of', async () => {
    const { queue, clock, end } = aQueue();
    void queue.inspect(uid(1));
    void queue.inspect(uid(2));
    await settle();
    assert.equal(queue.unreported().length, 2);
    end('u1');
    await settle();
    assert.equal(queue.unreported().length, 1);
    const allReported = Promise.all(queue.unreported().map(({ reported }) => reported));
    await clock.advance(slowInspectionMs);
    assert.deepEqual(await allReported, [true]);
  });
});
