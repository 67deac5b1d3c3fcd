/** A node with a faulty API server: pods start, terminate and are reported, and nothing is done twice. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test, type TestContext } from 'node:test';
import { isWatch, type Matches } from '../../support/api-server/api-server-faults.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { sharedCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { loopDelay, startFaultyNode, type FaultyNode } from '../../support/cluster/faulty-node.ts';
import { containersOf, runningOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning } from '../../support/cluster/pod-watch.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const isAny: Matches = () => true;
const isStatusPatch: Matches = (method, path) => method === 'PATCH' && path.includes('/pods/') && path.endsWith('/status');
const isPodWatch: Matches = (method, path) => isWatch(method, path) && path.startsWith('/api/v1/pods');
const isCall: Matches = (method, path) => !isWatch(method, path);

describe('a node with a faulty API server', () => {
  const hooks = new Cleanups();
  let cluster: TestCluster;
  let faulty: FaultyNode;
  /** A pod that runs during all tests and must not be affected. */
  let unaffectedContainers: string[];
  let unaffectedUID: string;

  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    faulty = await startFaultyNode(hooks, cluster, 'faulty-answers');
    unaffectedUID = (await faulty.create('unaffected')).metadata.uid;
    await faulty.pods.until('unaffected', 'runs', isRunning);
    unaffectedContainers = await runningOf(faulty.node, unaffectedUID);
  });
  afterEach(async () => {
    assert.deepEqual(await runningOf(faulty.node, unaffectedUID), unaffectedContainers);
    assert.ok(isRunning(faulty.pods.get('unaffected')!));
  });
  after(async () => {
    try {
      await faulty?.pods.delete('unaffected');
      await faulty?.pods.untilGone('unaffected');
    } finally {
      await hooks.run();
    }
  });

  /** Creates and deletes a pod during a fault: it runs once, in its first attempt, and disappears. */
  async function runAndDelete(t: TestContext, name: string, beforeDeletion: () => Promise<void> | void = () => {}): Promise<void> {
    const startedAt = performance.now();
    const { metadata } = await faulty.create(name);
    await faulty.pods.until(name, 'runs', isRunning, 120_000);
    const runningAfterMs = performance.now() - startedAt;
    const containers = (await containersOf(faulty.node)).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === metadata.uid);
    assert.deepEqual(
      containers.map(({ metadata: container }) => container?.attempt),
      [0],
    );
    await beforeDeletion();
    const deletedAt = performance.now();
    await faulty.pods.delete(name);
    await faulty.pods.untilGone(name, 120_000);
    t.diagnostic(`${name}: Running after ${Math.round(runningAfterMs)} ms, gone after ${Math.round(performance.now() - deletedAt)} ms`);
    await untilOnlyThese(faulty.node, [unaffectedUID]);
    const versions = faulty.pods.seen(name);
    assert.equal(new Set(versions.map(({ metadata: version }) => version.uid)).size, 1);
  }

  /** Returns the number of matching requests since `from`: a refused client must back off. */
  const countRequests = (from: number, matches: Matches) =>
    faulty.proxy.requests.slice(from).filter(({ method, path }) => matches(method, path)).length;

  test('429 with Retry-After: requests are retried at that time', async (t) => {
    const from = faulty.proxy.requests.length;
    const throttle = { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };
    // More than the start and the deletion of a pod need.
    const stop = faulty.proxy.fault({ matches: isCall, answer: throttle, times: 12 });
    await runAndDelete(t, 'throttled');
    stop();
    assert.ok(countRequests(from, isCall) < 12 + 60, `${countRequests(from, isCall)} requests`);
  });

  test('429 to a watch that is resumed', async (t) => {
    faulty.proxy.fault({ matches: isWatch, answer: { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 }, times: 3 });
    faulty.proxy.cut(isWatch);
    await runAndDelete(t, 'watch-throttled');
  });

  test('500 to everything for a while, including watches', async (t) => {
    const from = faulty.proxy.requests.length;
    const stop = faulty.proxy.fault({ matches: isAny, answer: { status: 500, reason: 'InternalError' } });
    faulty.proxy.cut(isWatch);
    const created = faulty.create('after-errors');
    // After 12 requests the kubelet backs off.
    const timer = setInterval(() => countRequests(from, isAny) >= 12 && stop(), 20);
    t.after(() => clearInterval(timer));
    await created;
    await faulty.pods.until('after-errors', 'runs', isRunning, 120_000);
    stop();
    await faulty.pods.delete('after-errors');
    await faulty.pods.untilGone('after-errors');
    await runAndDelete(t, 'after-recovery');
  });

  test('500 to status writes, and then to the final deletion', async (t) => {
    faulty.proxy.fault({ matches: isStatusPatch, answer: { status: 500, reason: 'InternalError' }, times: 4 });
    await runAndDelete(t, 'status-refused', () => {
      faulty.proxy.fault({ matches: (method) => method === 'DELETE', answer: { status: 500, reason: 'InternalError' }, times: 3 });
    });
  });

  test('409 to a status write: the pod is read, and the status is written', async (t) => {
    const conflict = { status: 409, reason: 'Conflict' };
    faulty.proxy.fault({ matches: isStatusPatch, answer: conflict, times: 6 });
    await runAndDelete(t, 'contested', () => {
      faulty.proxy.fault({ matches: isStatusPatch, answer: conflict, times: 2 });
      faulty.proxy.fault({ matches: (method) => method === 'DELETE', answer: conflict, times: 1 });
    });
  });

  test('410 to a resumed watch: everything is listed again, and nothing is restarted', async (t) => {
    const from = faulty.proxy.requests.length;
    faulty.proxy.fault({ matches: isWatch, answer: { status: 410, reason: 'Expired' }, times: 4 });
    faulty.proxy.cut(isWatch);
    await runAndDelete(t, 'expired');
    assert.ok(countRequests(from, isWatch) < 60, `${countRequests(from, isWatch)} watches`);
  });

  test('responses cut in the middle of an object: nothing is done twice', async (t) => {
    // The status is written without a response; the token is created, and half of it arrives.
    faulty.proxy.fault({ matches: isCall, cutAfterBytes: 100, times: 10 });
    await runAndDelete(t, 'cut', () => {
      faulty.proxy.fault({ matches: isCall, cutAfterBytes: 30, times: 5 });
    });
  });

  test('watches cut repeatedly in the middle of an object', async (t) => {
    faulty.proxy.fault({ matches: isPodWatch, cutAfterBytes: 1500, times: 4 });
    faulty.proxy.cut(isWatch);
    await runAndDelete(t, 'watch-cut');
  });

  test('responses that never arrive delay only their own object', async () => {
    await faulty.create('delayed');
    const stop = faulty.proxy.fault({ matches: (_, path) => path.includes('/pods/delayed'), hang: true });
    for (const name of ['other-1', 'other-2']) {
      await faulty.create(name);
      await faulty.pods.until(name, 'runs', isRunning);
      await faulty.pods.delete(name);
      await faulty.pods.untilGone(name);
    }
    assert.equal(await faulty.readyStatus(), 'True');
    stop();
    // The request would end at its deadline, 60 s.
    faulty.proxy.cutHanging();
    await faulty.pods.until('delayed', 'runs', isRunning, 120_000);
    await faulty.pods.delete('delayed');
    await faulty.pods.untilGone('delayed', 120_000);
    await untilOnlyThese(faulty.node, [unaffectedUID]);
  });

  test('one second for every response: slow but correct', async (t) => {
    const stop = faulty.proxy.fault({ matches: isAny, delayMs: 1000 });
    t.after(stop);
    await runAndDelete(t, 'slow');
    // The exit of a container is reported, too.
    await faulty.create('short', { restartPolicy: 'Never', containers: [aBusybox({ sh: 'exit 3' })] });
    const ended = await faulty.pods.until('short', 'has failed', ({ status }) => status?.phase === 'Failed');
    assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
    assert.equal(await faulty.readyStatus(), 'True');
    stop();
    await faulty.pods.delete('short');
    await faulty.pods.untilGone('short');
    t.diagnostic(loopDelay(faulty.node));
  });
});
