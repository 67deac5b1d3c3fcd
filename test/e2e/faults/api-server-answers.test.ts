/** An API server that answers badly, to a whole node: pods start, are deleted and are told of all the same, and nothing is done twice. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test, type TestContext } from 'node:test';
import { isWatch, type Matches } from '../../support/api-server-faults.ts';
import { sharedCluster, type TestCluster } from '../../support/control-plane.ts';
import { loopDelay, startFaultyNode, type FaultyNode } from '../../support/faulty-node.ts';
import { containersOf, runningOf, untilOnlyThese } from '../../support/observed-node-state.ts';
import { isRunning } from '../../support/pod-watch.ts';
import { aBusybox } from '../../support/test-node.ts';

const anything: Matches = () => true;
const isStatusPatch: Matches = (method, path) => method === 'PATCH' && path.includes('/pods/') && path.endsWith('/status');
const isPodWatch: Matches = (method, path) => isWatch(method, path) && path.startsWith('/api/v1/pods');
const isCall: Matches = (method, path) => !isWatch(method, path);

describe('a node whose API server answers badly', () => {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const later = { after: (clean: () => Promise<unknown> | void) => void cleanups.push(clean) };
  let cluster: TestCluster;
  let faulty: FaultyNode;
  /** It runs from the first test to the last, and nothing may happen to it. */
  let wellID: string[];
  let wellUID: string;

  before(async () => {
    cluster = await sharedCluster();
    later.after(() => cluster.close());
    faulty = await startFaultyNode(later, cluster, 'faulty-answers');
    wellUID = (await faulty.create('well')).metadata.uid;
    await faulty.pods.until('well', 'runs', isRunning);
    wellID = await runningOf(faulty.node, wellUID);
  });
  afterEach(async () => {
    assert.deepEqual(await runningOf(faulty.node, wellUID), wellID);
    assert.ok(isRunning(faulty.pods.get('well')!));
  });
  after(async () => {
    try {
      await faulty?.pods.delete('well');
      await faulty?.pods.untilGone('well');
    } finally {
      for (const clean of cleanups.reverse()) await clean();
    }
  });

  /** A pod's whole life while something fails: it runs once, in its first attempt, and is gone when it was deleted. */
  async function livesAndDies(t: TestContext, name: string, between: () => Promise<void> | void = () => {}): Promise<void> {
    const startedAt = performance.now();
    const { metadata } = await faulty.create(name);
    await faulty.pods.until(name, 'runs', isRunning, 120_000);
    const runningAfterMs = performance.now() - startedAt;
    const all = (await containersOf(faulty.node)).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === metadata.uid);
    assert.deepEqual(
      all.map(({ metadata: of }) => of?.attempt),
      [0],
    );
    await between();
    const deletedAt = performance.now();
    await faulty.pods.delete(name);
    await faulty.pods.untilGone(name, 120_000);
    t.diagnostic(`${name}: Running after ${Math.round(runningAfterMs)} ms, gone after ${Math.round(performance.now() - deletedAt)} ms`);
    await untilOnlyThese(faulty.node, [wellUID]);
    const shown = faulty.pods.seen(name);
    assert.equal(new Set(shown.map(({ metadata: of }) => of.uid)).size, 1);
  }

  /** Requests that match since `from`: who is refused must not ask without end. */
  const askedFor = (from: number, matches: Matches) =>
    faulty.way.requests.slice(from).filter(({ method, path }) => matches(method, path)).length;

  test('429 with Retry-After: everything is asked for again, when it was said', async (t) => {
    const from = faulty.way.requests.length;
    const throttle = { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };
    // So many as a pod's start and end ask for, and some more.
    const stop = faulty.way.fault({ matches: isCall, answer: throttle, times: 12 });
    await livesAndDies(t, 'throttled');
    stop();
    assert.ok(askedFor(from, isCall) < 12 + 60, `${askedFor(from, isCall)} requests`);
  });

  test('429 to a watch that has ended', async (t) => {
    faulty.way.fault({ matches: isWatch, answer: { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 }, times: 3 });
    faulty.way.cut(isWatch);
    await livesAndDies(t, 'watched-later');
  });

  test('500 to everything for a while, watches too', async (t) => {
    const from = faulty.way.requests.length;
    const stop = faulty.way.fault({ matches: anything, answer: { status: 500, reason: 'InternalError' } });
    faulty.way.cut(isWatch);
    const created = faulty.create('after-errors');
    // As long as the kubelet asks: it has met the errors, and is backing off.
    const timer = setInterval(() => askedFor(from, anything) >= 12 && stop(), 20);
    t.after(() => clearInterval(timer));
    await created;
    await faulty.pods.until('after-errors', 'runs', isRunning, 120_000);
    stop();
    await faulty.pods.delete('after-errors');
    await faulty.pods.untilGone('after-errors');
    await livesAndDies(t, 'well-again');
  });

  test('500 to the writing of status, and then to the final deletion', async (t) => {
    faulty.way.fault({ matches: isStatusPatch, answer: { status: 500, reason: 'InternalError' }, times: 4 });
    await livesAndDies(t, 'unwritten', () => {
      faulty.way.fault({ matches: (method) => method === 'DELETE', answer: { status: 500, reason: 'InternalError' }, times: 3 });
    });
  });

  test('409 to a status: the newest is read, and the status is written', async (t) => {
    const conflict = { status: 409, reason: 'Conflict' };
    faulty.way.fault({ matches: isStatusPatch, answer: conflict, times: 6 });
    await livesAndDies(t, 'contested', () => {
      faulty.way.fault({ matches: isStatusPatch, answer: conflict, times: 2 });
      faulty.way.fault({ matches: (method) => method === 'DELETE', answer: conflict, times: 1 });
    });
  });

  test('410 to a watch that is begun again: everything is read afresh, and nobody is restarted', async (t) => {
    const from = faulty.way.requests.length;
    faulty.way.fault({ matches: isWatch, answer: { status: 410, reason: 'Expired' }, times: 4 });
    faulty.way.cut(isWatch);
    await livesAndDies(t, 'expired');
    assert.ok(askedFor(from, isWatch) < 60, `${askedFor(from, isWatch)} watches`);
  });

  test('answers cut in the middle of an object: what was done is not done twice', async (t) => {
    // The status is written and the kubelet never hears of it; the token is made, and half of it arrives.
    faulty.way.fault({ matches: isCall, cutAfterBytes: 100, times: 10 });
    await livesAndDies(t, 'cut', () => {
      faulty.way.fault({ matches: isCall, cutAfterBytes: 30, times: 5 });
    });
  });

  test('watches cut in the middle of an object, again and again', async (t) => {
    faulty.way.fault({ matches: isPodWatch, cutAfterBytes: 1500, times: 4 });
    faulty.way.cut(isWatch);
    await livesAndDies(t, 'half-seen');
  });

  test('answers that never come hold up what they are about, and nobody else', async () => {
    await faulty.create('held');
    const stop = faulty.way.fault({ matches: (_, path) => path.includes('/pods/held'), hang: true });
    for (const name of ['beside-1', 'beside-2']) {
      await faulty.create(name);
      await faulty.pods.until(name, 'runs', isRunning);
      await faulty.pods.delete(name);
      await faulty.pods.untilGone(name);
    }
    assert.equal(await faulty.conditionReady(), 'True');
    stop();
    // It would have its deadline, 60 s.
    faulty.way.cutHanging();
    await faulty.pods.until('held', 'runs', isRunning, 120_000);
    await faulty.pods.delete('held');
    await faulty.pods.untilGone('held', 120_000);
    await untilOnlyThese(faulty.node, [wellUID]);
  });

  test('a second for every answer: slow, and right', async (t) => {
    const stop = faulty.way.fault({ matches: anything, delayMs: 1000 });
    t.after(stop);
    await livesAndDies(t, 'slow');
    // A container that ends is told of, too.
    await faulty.create('short', { restartPolicy: 'Never', containers: [aBusybox({ sh: 'exit 3' })] });
    const ended = await faulty.pods.until('short', 'has failed', ({ status }) => status?.phase === 'Failed');
    assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
    assert.equal(await faulty.conditionReady(), 'True');
    stop();
    await faulty.pods.delete('short');
    await faulty.pods.untilGone('short');
    t.diagnostic(loopDelay(faulty.node));
  });
});
