/**
 * The kubelet is killed at random points while 50 pods of a cluster are created and deleted. In the end nothing is lost,
 * duplicated or left over, by the runtime, the kernel and the API server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '../../../lab/control-plane/control-plane-access.ts';
import { sharedCluster } from '../../support/cluster/control-plane.ts';
import { loopDelay, loopDelayEnv, resetLoopDelay } from '../../support/cluster/faulty-node.ts';
import { runningOf, sandboxesOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning, PodWatch } from '../../support/cluster/pod-watch.ts';
import { seededRandom, testSeed } from '../../support/fuzz/seeded-random.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';

const podCount = 50;
const waitTimeoutMs = 240_000;

test(`the kubelet is killed at random points while ${podCount} pods are created and deleted`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const random = seededRandom(seed);
  const randomBelow = (limit: number) => Math.floor(random() * limit);
  const nodeName = 'killed-often';
  const cluster = await sharedCluster();
  t.after(() => cluster.close());
  const namespace = await cluster.namespace(t);
  const member = await cluster.member(t, nodeName);
  const node = await TestNode.start(t, { ...member, env: loopDelayEnv() });
  const pods = await PodWatch.start(t, cluster, namespace);
  await node.startKubelet();

  // A third of the pods ignore SIGTERM, so that their termination takes some time.
  const stubborn = aBusybox({ sh: 'trap "" TERM; while :; do sleep 1; done' });
  const create = (name: string) =>
    pods.create(
      aManifest(
        name,
        { nodeName, terminationGracePeriodSeconds: 3, containers: [randomBelow(3) === 0 ? stubborn : aBusybox()] },
        { namespace },
      ),
    );
  const killAt = async (what: string, condition: () => Promise<boolean>, whileDown: () => Promise<void> = async () => {}) => {
    await waitUntil(what, condition, waitTimeoutMs);
    // Kills during calls in flight: a sandbox takes 100 ms and more.
    await sleep(randomBelow(300));
    assert.equal(await node.stopKubelet('SIGKILL'), 'SIGKILL');
    await whileDown();
    await node.startKubelet();
  };
  /** Returns `count` ascending random numbers below the limit. */
  const randomPoints = (count: number, limit: number) => Array.from({ length: count }, () => randomBelow(limit)).toSorted((a, b) => a - b);

  const names = Array.from({ length: podCount }, (_, i) => `p${i}`);
  const created = Promise.all(names.map(create));
  const observedRunning = new Set<string>();
  for (const point of randomPoints(4, podCount - 5)) {
    await killAt(
      `${point} containers run`,
      async () => (await runningOf(node)).length >= point,
      async () => (await runningOf(node)).forEach((id) => observedRunning.add(id)),
    );
  }
  await created;
  await pods.untilAll('all run', (all) => all.length === podCount && all.every(isRunning), waitTimeoutMs);
  const uids = new Map(pods.all().map(({ metadata }) => [metadata.name, metadata.uid]));
  await untilOnlyThese(node, [...uids.values()]);
  const running = new Set(await runningOf(node));
  assert.deepEqual(
    [...observedRunning].filter((id) => !running.has(id)),
    [],
    'containers that ran are gone',
  );
  // Sandboxes whose creation the kill interrupted stay until garbage collection.
  const surplusSandboxes = (await sandboxesOf(node)).length - podCount;
  t.diagnostic(`${observedRunning.size} containers ran across a kill during creation, ${surplusSandboxes} sandboxes were incomplete`);

  // Killed while idle: the restart writes nothing.
  let killedAt = '';
  const recordKill = async () => void (killedAt = new Date().toISOString());
  await killAt('the node is idle', async () => true, recordKill);
  resetLoopDelay(node);
  // A new pod runs after the earlier ones were inspected.
  await create('after-restart');
  await pods.until('after-restart', 'runs', isRunning, waitTimeoutMs);
  const ofNewPod = await runningOf(node, pods.get('after-restart')!.metadata.uid);
  assert.deepEqual(new Set(await runningOf(node)), new Set([...running, ...ofNewPod]));
  const isOfEarlierPods = ({ objectRef, requestReceivedTimestamp }: AuditEvent) =>
    objectRef?.name !== 'after-restart' && requestReceivedTimestamp > killedAt;
  assert.deepEqual(
    statusWrites()
      .filter(isOfEarlierPods)
      .map(({ objectRef, requestObject }) => [objectRef?.name, JSON.stringify(requestObject)]),
    [],
    'a restart without changes wrote statuses',
  );

  // Half of the pods are deleted while others are created.
  const deleted = ['after-restart', ...names.filter(() => random() < 0.5)];
  const kept = names.filter((name) => !deleted.includes(name));
  const added = Array.from({ length: 10 }, (_, i) => `new-${i}`);
  await Promise.all([...deleted.map((name) => pods.delete(name)), ...added.map(create)]);
  const countGone = () => deleted.filter((name) => !pods.get(name)).length;
  for (const point of randomPoints(3, deleted.length - 3)) await killAt(`${point} pods are gone`, async () => countGone() >= point);
  await pods.untilAll(
    'the deleted pods are gone and the new pods run',
    (all) => all.length === kept.length + added.length && all.every(isRunning),
    waitTimeoutMs,
  );
  await untilOnlyThese(
    node,
    pods.all().map(({ metadata }) => metadata.uid),
  );
  for (const name of kept) assert.equal(pods.get(name)?.metadata.uid, uids.get(name));
  for (const name of kept) {
    const [id = ''] = await runningOf(node, uids.get(name));
    assert.ok(running.has(id), `the kept pod ${name} was restarted`);
  }

  // The last pods: killed during their start, some deleted while there is no kubelet.
  const rest = pods.all().map(({ metadata }) => metadata.name);
  const [deletedFirst, deletedWhileDown] = [rest.filter((_, i) => i % 2 === 0), rest.filter((_, i) => i % 2 === 1)];
  await Promise.all(deletedFirst.map((name) => pods.delete(name)));
  const gonePods = randomBelow(deletedFirst.length - 2);
  await killAt(
    `${gonePods} pods are gone`,
    async () => deletedFirst.filter((name) => !pods.get(name)).length >= gonePods,
    async () => void (await Promise.all(deletedWhileDown.map((name) => pods.delete(name)))),
  );
  await pods.untilAll('all are gone', (all) => all.length === 0, waitTimeoutMs);
  await untilOnlyThese(node, []);
  t.diagnostic(loopDelay(node));

  function statusWrites() {
    const isStatus = ({ verb, objectRef }: AuditEvent) =>
      verb !== 'get' && objectRef?.resource === 'pods' && objectRef.subresource === 'status';
    return cluster.controlPlane.auditEvents(nodeName).filter(isStatus);
  }
});
