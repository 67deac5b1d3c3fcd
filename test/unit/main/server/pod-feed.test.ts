import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodFeed } from '../../../../src/main/server/pod-feed.ts';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import type { Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

const uidOf = (name: string) => `uid-${name}` as PodUID;
const aPod = (name: string): Pod => ({ metadata: { name, namespace: 'ns', uid: uidOf(name) }, spec: { containers: [] } });

function aFeed() {
  const podManager = new PodManager();
  const statuses = new Map<PodUID, PodStatus>();
  const finished = new Set<PodUID>();
  const clock = new FakeClock();
  let isReady = false;
  const feed = new PodFeed({
    podManager,
    statuses: { get: (uid) => statuses.get(uid), isFinished: (uid) => finished.has(uid) },
    sourcesReady: () => isReady,
    clock,
    logger: aLogger().logger,
  });
  const setStatus = (name: string, status: PodStatus) => {
    statuses.set(uidOf(name), status);
    feed.onChanged(uidOf(name));
  };
  return { feed, podManager, clock, setStatus, finished, setReady: (value: boolean) => (isReady = value) };
}
const names = ({ pods }: { readonly pods: readonly { readonly name: string }[] }) => pods.map(({ name }) => name);

test('a receiver gets all pods once, and then those that change', async () => {
  const { feed, podManager, setStatus, finished } = aFeed();
  for (const name of ['a', 'b']) podManager.set(aPod(name));
  const first = await feed.next(null);
  assert.deepEqual([names(first), first.isStart, first.isComplete], [['a', 'b'], true, true]);
  assert.deepEqual(JSON.parse(first.pods[0]!.json), { ...aPod('a'), status: { phase: 'Pending' } });
  assert.equal(first.pods[0]!.hasStatus, false);
  const second = feed.next(first.cursor);
  setStatus('b', { phase: 'Running' });
  finished.add(uidOf('b'));
  podManager.remove(uidOf('a'));
  const { pods, removed, isStart } = await second;
  assert.deepEqual(
    [pods.map(({ uid, hasStatus, isFinished }) => ({ uid, hasStatus, isFinished })), isStart],
    [[{ uid: 'uid-b', hasStatus: true, isFinished: true }], false],
  );
  assert.deepEqual(removed, ['uid-a']);
});

test('long pods come one by one', async () => {
  const { feed, podManager } = aFeed();
  for (const name of ['a', 'b', 'c']) podManager.set({ ...aPod(name), spec: { containers: [{ name: 'x'.repeat(2 ** 20) }] } });
  const first = await feed.next(null);
  assert.deepEqual([names(first), first.isComplete], [['a'], false]);
  assert.deepEqual(names(await feed.next(first.cursor)), ['b']);
});

test('many pods come in parts', async () => {
  const { feed, podManager } = aFeed();
  for (let index = 0; index < 120; index += 1) podManager.set(aPod(String(index)));
  const parts = [await feed.next(null)];
  while (!parts.at(-1)!.isComplete) parts.push(await feed.next(parts[0]!.cursor));
  assert.deepEqual(
    parts.map(({ pods, isStart }) => [pods.length, isStart]),
    [
      [50, true],
      [50, false],
      [20, false],
    ],
  );
});

test('a request without a change is answered after some seconds, or soon while the sources are not ready', async () => {
  const { feed, clock, setReady } = aFeed();
  const { cursor } = await feed.next(null);
  const unready = feed.next(cursor);
  setReady(true);
  await clock.advance(100);
  assert.equal((await unready).sourcesReady, true);
  const answers: boolean[] = [];
  void feed.next(cursor).then(({ pods }) => answers.push(pods.length === 0));
  await clock.advance(4900);
  assert.deepEqual(answers, []);
  await clock.advance(200);
  assert.deepEqual(answers, [true]);
});

test('pods that ran before a restart are verified before the sources count as ready', async () => {
  const { feed, podManager, setStatus, setReady, clock } = aFeed();
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  podManager.set({ ...aPod('a'), status });
  setReady(true);
  const { cursor, sourcesReady } = await feed.next(null);
  assert.equal(sourcesReady, false);
  const next = feed.next(cursor);
  setStatus('a', status);
  assert.equal((await next).sourcesReady, true);

  const other = aFeed();
  other.podManager.set({ ...aPod('a'), status });
  other.setReady(true);
  const first = await other.feed.next(null);
  await other.clock.advance(5000);
  const late = other.feed.next(first.cursor);
  await other.clock.advance(5000);
  assert.equal((await late).sourcesReady, true, 'a pod without a status does not block the others');
  await clock.advance(0);
});

test('a receiver that is gone costs nothing, and starts again when it comes back', async () => {
  const { feed, podManager, clock } = aFeed();
  const { cursor } = await feed.next(null);
  podManager.set(aPod('a'));
  await clock.advance(31_000);
  podManager.set(aPod('b'));
  const { pods, isStart } = await feed.next(cursor);
  assert.deepEqual([pods.length, isStart], [2, true]);
});

test('a new receiver takes the place of the one before', async () => {
  const { feed, podManager } = aFeed();
  const { cursor } = await feed.next(null);
  const old = feed.next(cursor);
  for (let index = 0; index < 60; index += 1) podManager.set(aPod(String(index)));
  await old;
  const older = feed.next(cursor);
  await older;
  const waiting = feed.next(cursor);
  const first = await feed.next(null);
  await assert.rejects(waiting, /another receiver/);
  assert.deepEqual([first.pods.length, (await feed.next(first.cursor)).pods.length], [50, 10]);
  assert.equal((await feed.next(cursor)).isStart, true);
});
