/**
 * The kubelet is killed at random points while 50 pods of a cluster are created and deleted. In the end nothing is lost,
 * duplicated or left over, by the runtime, the kernel and the API server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '../../../scripts/host/control-plane-access.ts';
import { sharedCluster } from '../../support/control-plane.ts';
import { loopDelay, loopDelayEnv, resetLoopDelay } from '../../support/faulty-node.ts';
import { runningOf, sandboxesOf, untilOnlyThese } from '../../support/observed-node-state.ts';
import { isRunning, PodWatch } from '../../support/pod-watch.ts';
import { seededRandom, testSeed } from '../../support/seeded-random.ts';
import { waitUntil } from '../../support/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../../support/test-node.ts';

const podCount = 50;
const patienceMs = 240_000;

test(`the kubelet is killed at random points while ${podCount} pods are created and deleted`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const random = seededRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const nodeName = 'killed-often';
  const cluster = await sharedCluster();
  t.after(() => cluster.close());
  const namespace = await cluster.namespace(t);
  const member = await cluster.member(t, nodeName);
  const node = await TestNode.start(t, { ...member, env: loopDelayEnv() });
  const pods = await PodWatch.start(t, cluster, namespace);
  await node.startKubelet();

  // A third of them ignore SIGTERM, so that their termination takes some time.
  const stubborn = aBusybox({ sh: 'trap "" TERM; while :; do sleep 1; done' });
  const create = (name: string) =>
    pods.create(
      aManifest(name, { nodeName, terminationGracePeriodSeconds: 3, containers: [below(3) === 0 ? stubborn : aBusybox()] }, { namespace }),
    );
  const killAt = async (what: string, isTime: () => Promise<boolean>, between: () => Promise<void> = async () => {}) => {
    await waitUntil(what, isTime, patienceMs);
    // During calls in flight: a sandbox takes 100 ms and more.
    await sleep(below(300));
    assert.equal(await node.stopKubelet('SIGKILL'), 'SIGKILL');
    await between();
    await node.startKubelet();
  };
  /** Returns `count` ascending random numbers below the limit. */
  const points = (count: number, limit: number) => Array.from({ length: count }, () => below(limit)).toSorted((a, b) => a - b);

  const names = Array.from({ length: podCount }, (_, i) => `p${i}`);
  const created = Promise.all(names.map(create));
  const wereWell = new Set<string>();
  for (const point of points(4, podCount - 5)) {
    await killAt(
      `${point} containers run`,
      async () => (await runningOf(node)).length >= point,
      async () => (await runningOf(node)).forEach((id) => wereWell.add(id)),
    );
  }
  await created;
  await pods.untilAll('all run', (all) => all.length === podCount && all.every(isRunning), patienceMs);
  const uids = new Map(pods.all().map(({ metadata }) => [metadata.name, metadata.uid]));
  await untilOnlyThese(node, [...uids.values()]);
  const running = new Set(await runningOf(node));
  assert.deepEqual(
    [...wereWell].filter((id) => !running.has(id)),
    [],
    'containers that were well are gone',
  );
  // What was half created at the kill stays until garbage collection; there must be few of these.
  const halfMade = (await sandboxesOf(node)).length - podCount;
  t.diagnostic(`${wereWell.size} containers outlived a kill while pods were made, ${halfMade} sandboxes were half made`);

  // Killed while idle: the restart writes nothing.
  let killedAt = '';
  const killed = async () => void (killedAt = new Date().toISOString());
  await killAt('it is time', async () => true, killed);
  resetLoopDelay(node);
  // A new pod runs after the earlier ones were inspected.
  await create('after-all');
  await pods.until('after-all', 'runs', isRunning, patienceMs);
  const own = await runningOf(node, pods.get('after-all')!.metadata.uid);
  assert.deepEqual(new Set(await runningOf(node)), new Set([...running, ...own]));
  const isOfOthers = ({ objectRef, requestReceivedTimestamp }: AuditEvent) =>
    objectRef?.name !== 'after-all' && requestReceivedTimestamp > killedAt;
  assert.deepEqual(
    statusWrites()
      .filter(isOfOthers)
      .map(({ objectRef, requestObject }) => [objectRef?.name, JSON.stringify(requestObject)]),
    [],
    'a restart that changed nothing wrote statuses',
  );

  // Half of them are deleted while others are created.
  const doomed = ['after-all', ...names.filter(() => random() < 0.5)];
  const kept = names.filter((name) => !doomed.includes(name));
  const newcomers = Array.from({ length: 10 }, (_, i) => `new-${i}`);
  await Promise.all([...doomed.map((name) => pods.delete(name)), ...newcomers.map(create)]);
  const goneNow = () => doomed.filter((name) => !pods.get(name)).length;
  for (const point of points(3, doomed.length - 3)) await killAt(`${point} pods are gone`, async () => goneNow() >= point);
  await pods.untilAll(
    'the deleted are gone and the new ones run',
    (all) => all.length === kept.length + newcomers.length && all.every(isRunning),
    patienceMs,
  );
  await untilOnlyThese(
    node,
    pods.all().map(({ metadata }) => metadata.uid),
  );
  for (const name of kept) assert.equal(pods.get(name)?.metadata.uid, uids.get(name));
  for (const name of kept) {
    const [id = ''] = await runningOf(node, uids.get(name));
    assert.ok(running.has(id), `${name}, which was kept, was restarted`);
  }

  // The last pods: killed during their start, some deleted while there is no kubelet.
  const rest = pods.all().map(({ metadata }) => metadata.name);
  const [now, whileDown] = [rest.filter((_, i) => i % 2 === 0), rest.filter((_, i) => i % 2 === 1)];
  await Promise.all(now.map((name) => pods.delete(name)));
  const left = below(now.length - 2);
  await killAt(
    `${left} pods are gone`,
    async () => now.filter((name) => !pods.get(name)).length >= left,
    async () => void (await Promise.all(whileDown.map((name) => pods.delete(name)))),
  );
  await pods.untilAll('all are gone', (all) => all.length === 0, patienceMs);
  await untilOnlyThese(node, []);
  t.diagnostic(loopDelay(node));

  function statusWrites() {
    const isStatus = ({ verb, objectRef }: AuditEvent) =>
      verb !== 'get' && objectRef?.resource === 'pods' && objectRef.subresource === 'status';
    return cluster.controlPlane.auditEvents(nodeName).filter(isStatus);
  }
});
