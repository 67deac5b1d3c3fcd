import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { InspectionQueue, slowInspectionMs, type PendingRequest } from '../../../../../src/workers/pleg/inspection/inspection-queue.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

/** Looks end when the test says so. */
function aQueue() {
  const clock = new FakeClock();
  const begun: string[] = [];
  const slow: string[] = [];
  const ends = new Map<string, () => void>();
  const pendingRequests = new Map<string, PendingRequest>();
  const queue = new InspectionQueue({
    inspect: (uid, known, pending) => {
      pendingRequests.set(uid, pending);
      if (known && 'created' in known)
        begun.push([uid, 'with', known.created.sandbox?.id, ...known.created.containers.map(({ id }) => id)].join(' '));
      else begun.push(known === undefined ? uid : `${uid} listed at ${known.listedAtMs}`);
      return new Promise((resolve) => ends.set(uid, () => resolve(null)));
    },
    postPartialStatus: (uid) => void slow.push(uid),
    clock,
  });
  return {
    queue,
    clock,
    begun,
    slow,
    end: (uid: string) => ends.get(uid)!(),
    sequence: (uid: string) => pendingRequests.get(uid)!.sequence,
  };
}
const uid = (n: number) => `u${n}` as PodUID;

suite('the queue of looks', () => {
  test('begins so many at once; a slow one gives its place to another, and is told of', async () => {
    const { queue, clock, begun, slow, end } = aQueue();
    for (let n = 0; n < 40; n += 1) void queue.inspect(uid(n));
    await settle();
    assert.equal(begun.length, 16);
    end('u0');
    await settle();
    assert.equal(begun.length, 17);
    await clock.advance(slowInspectionMs);
    assert.deepEqual([begun.length, slow.length], [33, 16]);
    for (let n = 1; n < 17; n += 1) end(`u${n}`);
    await settle();
    assert.equal(begun.length, 33);
    await clock.advance(slowInspectionMs);
    assert.equal(begun.length, 40);
  });

  test('a look after a relist need not list the pod again, unless somebody asks for that too', async () => {
    const { queue, begun, end } = aQueue();
    void queue.inspectListed(uid(1), 500);
    void queue.inspectListed(uid(2), 500);
    void queue.inspect(uid(2));
    await settle();
    assert.deepEqual(begun, ['u1 listed at 500', 'u2']);
    void queue.inspectListed(uid(1), 600);
    end('u1');
    await settle();
    assert.deepEqual(begun, ['u1 listed at 500', 'u2', 'u1 listed at 600']);
  });

  test('a look after a sync that knows what it made need not list the pod either, unless somebody knows less', async () => {
    const { queue, begun } = aQueue();
    const made = { sandbox: { id: 's1' as SandboxID, podName: 'p', podNamespace: 'n' }, containers: [] };
    void queue.inspect(uid(1), made);
    void queue.inspect(uid(2), made);
    void queue.inspect(uid(2));
    void queue.inspect(uid(3), made);
    void queue.inspectListed(uid(3), 500);
    await settle();
    assert.deepEqual(begun, ['u1 with s1', 'u2', 'u3']);
  });

  test('who share a look put together what they know was made', async () => {
    const { queue, begun } = aQueue();
    const sandboxID = 's1' as SandboxID;
    void queue.inspect(uid(1), { containers: [] });
    void queue.inspect(uid(1), { sandbox: { id: sandboxID, podName: 'p', podNamespace: 'n' }, containers: [] });
    void queue.inspect(uid(1), { containers: [{ id: 'c1' as ContainerID, sandboxID, name: 'app' }] });
    await settle();
    assert.deepEqual(begun, ['u1 with s1 c1']);
  });

  test('names the numbered request that is pending: also to an inspection that began before the request', async () => {
    const { queue, begun, end, sequence } = aQueue();
    void queue.inspect(uid(1));
    await settle();
    assert.equal(sequence('u1'), undefined);
    void queue.inspect(uid(1), { containers: [] }, 7);
    assert.equal(sequence('u1'), 7);
    end('u1');
    await settle();
    assert.deepEqual(begun, ['u1', 'u1 with ']);
    assert.equal(sequence('u1'), 7);
    // Begun after the answer: not the request's any more.
    void queue.inspect(uid(1));
    end('u1');
    await settle();
    assert.equal(begun.length, 3);
    assert.equal(sequence('u1'), undefined);
  });

  test('keeps the number of a request that others share', async () => {
    const { queue, begun, sequence } = aQueue();
    void queue.inspectListed(uid(1), 500);
    void queue.inspect(uid(1), undefined, 7);
    void queue.inspect(uid(1));
    await settle();
    assert.deepEqual(begun, ['u1']);
    assert.equal(sequence('u1'), 7);
  });

  test('knows of which looks main was not told', async () => {
    const { queue, clock, end } = aQueue();
    void queue.inspect(uid(1));
    void queue.inspect(uid(2));
    await settle();
    assert.equal(queue.unreported().length, 2);
    end('u1');
    await settle();
    assert.equal(queue.unreported().length, 1);
    const told = Promise.all(queue.unreported());
    await clock.advance(slowInspectionMs);
    await told;
  });
});
