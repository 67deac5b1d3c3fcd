/** In-place resizes that do not fit: they are deferred, shown, and allocated in their order when room is free. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TimelineJson } from '../../../src/shared/contracts/timeline.ts';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { conditionOf, TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { appOf, condition, guaranteed, hasNoResize, pendingReason, Resizes, withResources } from '../../support/cluster/resizes.ts';
import { runLocalCommand } from '../../support/kubelet/local-command.ts';

const nodeName = 'cluster-deferred';
const small = { requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '64Mi' } };
const cpu = (milli: number) => ({ requests: { cpu: `${milli}m` } });
/** From the moment in which room is free until a watch has the allocation: on a busy host. The periodic retry comes after three minutes. */
const roomMs = 5000;

describe('a resize that does not fit', () => {
  let node: TestClusterNode;
  let resizes: Resizes;
  let allocatable: number;
  before(async () => {
    node = await TestClusterNode.start(nodeName, { config: { featureGates: { KubeletAllocatedPodsEndpoint: true } } });
    resizes = new Resizes(node);
    allocatable = await resizes.allocatableMilliCPU();
  });
  after(() => node?.destroy());

  const create = async (name: string, spec: Partial<PodSpec>) => {
    await node.create(name, spec);
    return node.untilRunning(name);
  };
  const requestOf = ({ spec }: Pod) => spec.containers[0]?.resources?.requests?.['cpu'];
  const allocatedCPU = (pod: Pod) => appOf(pod)?.allocatedResources?.['cpu'];
  /** Waits until the pod has got the CPU, at most `roomMs` after `sinceMs`. */
  const untilAllocated = async (name: string, amount: string, sinceMs: number) => {
    await node.until(name, `has ${amount}`, (pod) => allocatedCPU(pod) === amount);
    assert.ok(Date.now() - sinceMs < roomMs, `it took ${Date.now() - sinceMs} ms`);
  };
  /** The shell may exit with the container before it has printed the result. */
  const end = (name: string) => node.exec(name, 'kill 1').catch(() => {});
  const untilRestarted = (name: string, times: number) =>
    node.until(name, 'runs again', (pod) => appOf(pod)?.restartCount === times && appOf(pod)?.ready === true);

  test('is deferred, and allocated when room is free; other pods count what is allocated', async () => {
    await create('greedy', withResources(small));
    await create('filler', { restartPolicy: 'Never', ...withResources(cpu(allocatable - 1000)) });
    await resizes.of('greedy', cpu(allocatable - 900));
    const deferred = await resizes.untilDeferred('greedy');
    const { message, observedGeneration } = condition(deferred, 'PodResizePending')!;
    assert.equal(observedGeneration, 2);
    assert.match(message ?? '', /^Node didn't have enough resource: cpu, requested: \d+, used: \d+, capacity: \d+$/);
    assert.deepEqual(appOf(deferred)?.allocatedResources, small.requests);
    await create('neighbour', withResources(small));
    await resizes.of('neighbour', cpu(allocatable - 800));
    await resizes.untilDeferred('neighbour');
    // The next instance has what is allocated.
    await end('greedy');
    const restarted = await untilRestarted('greedy', 1);
    assert.deepEqual([(await resizes.values('greedy'))[0], appOf(restarted)?.resources], ['20', small]);
    assert.deepEqual([resizes.podValues(restarted)[0], pendingReason(restarted)], ['20', 'Deferred']);

    await resizes.untilEvents('greedy', 'ResizeDeferred');
    await node.restartKubelet('SIGKILL');
    await node.untilReady();
    // The amounts in the message are those of the moment.
    const { message: _, ...kept } = condition(await node.get('greedy'), 'PodResizePending')!;
    assert.deepEqual({ ...kept, message }, condition(deferred, 'PodResizePending'));
    await end('neighbour');
    const neighbour = await untilRestarted('neighbour', 1);
    assert.deepEqual([(await resizes.values('neighbour'))[0], appOf(neighbour)?.resources], ['20', small]);
    assert.deepEqual([requestOf(neighbour), pendingReason(neighbour)], [`${allocatable - 800}m`, 'Deferred']);
    await resizes.of('neighbour', small);

    await end('filler');
    const ended = await node.untilEnded('filler');
    await untilAllocated('greedy', `${allocatable - 900}m`, Date.now());
    assert.equal(ended.status?.phase, 'Succeeded');
    const resized = await resizes.until('greedy', () => true);
    assert.equal(appOf(resized)?.restartCount, 1);
    const timeline = JSON.parse(
      (await runLocalCommand('timeline', node.node.rootDir, `${node.namespace}/greedy`, '--json')).stdout,
    ) as TimelineJson;
    const shown = timeline.phases.find(({ phase }) => phase === 'Resize');
    assert.deepEqual([shown?.outcome, shown?.wait?.for], ['ok', 'Room']);
    await resizes.untilEvents('greedy', 'ResizeCompleted', 'ResizeDeferred', 'ResizeStarted');
  });

  test('is forgotten when it is taken back', async () => {
    await create('undecided', withResources(small));
    await resizes.of('undecided', cpu(allocatable));
    await resizes.untilDeferred('undecided');
    await resizes.of('undecided', cpu(20));
    await node.until('undecided', 'has nothing pending', hasNoResize);
    await resizes.untilEvents('undecided', 'ResizeDeferred');
    // The API server refuses what no node of this size has.
    await assert.rejects(resizes.of('undecided', { requests: { cpu: '1000' } }), /cpu, requested: 1000000, allocatable: \d+/);
  });

  test('is in kubectl describe, in /allocatedPods and in the metrics, and is allocated when another pod becomes smaller', async () => {
    const gauges = ['kubelet_pod_pending_resizes', 'kubelet_pod_in_progress_resizes'] as const;
    const counters = [
      'kubelet_pod_deferred_accepted_resizes_total',
      'kubelet_pod_deferred_resize_duration_seconds_count',
      'kubelet_container_requested_resizes_total',
      'kubelet_pod_resize_duration_milliseconds_count',
    ] as const;
    const read = async (names: readonly string[]) =>
      Object.assign(
        {},
        ...(await Promise.all(
          names.map(async (name) => {
            const values = await resizes.metric(name);
            return Object.fromEntries(Object.entries(values).map(([labels, value]) => [`${name}{${labels}}`, value]));
          }),
        )),
      ) as Readonly<Record<string, number>>;
    const before = await read(counters);
    await resizes.of('undecided', cpu(890));
    await resizes.untilDeferred('undecided');
    await resizes.untilEvents('undecided', 'ResizeDeferred', 'ResizeDeferred');

    const description = await node.kubectl('describe', 'pod', 'undecided');
    assert.match(description, /^ +PodResizePending +True/m);
    assert.match(
      description,
      /^ +Warning +ResizeDeferred +.*kubelet +Pod resize Deferred: \{"containers":.*Node didn't have enough resource: cpu/m,
    );
    const { items } = await node.api.get<{ items: readonly Pod[] }>(`${node.nodePath}/proxy/allocatedPods`);
    const allocated = items.find(({ metadata }) => metadata.name === 'undecided')!;
    assert.deepEqual([requestOf(allocated), requestOf(await node.get('undecided'))], ['20m', '890m']);
    const one = await node.api.get<Pod>(`${node.nodePath}/proxy/allocatedPods/${node.namespace}/undecided`);
    assert.deepEqual([requestOf(one), one.metadata.uid], ['20m', allocated.metadata.uid]);
    const waiting = await read(gauges);
    assert.equal(waiting['kubelet_pod_pending_resizes{priority_bucket="normal",reason="deferred"}'], 1);

    // The greedy pod has all but 900m of the node.
    await resizes.of('greedy', cpu(20));
    await untilAllocated('undecided', '890m', Date.now());
    const resized = await resizes.until('undecided', () => true);
    assert.equal(appOf(resized)?.restartCount, 0);
    await resizes.untilEvents('undecided', 'ResizeDeferred', 'ResizeDeferred', 'ResizeStarted', 'ResizeCompleted');
    const all = await node.api.get<{ items: readonly Pod[] }>(`${node.nodePath}/proxy/allocatedPods`);
    assert.equal(requestOf(all.items.find(({ metadata }) => metadata.name === 'undecided')!), '890m');
    const [after, ended] = [await read(counters), await read(gauges)];
    assert.ok(
      Object.values(ended).every((value) => value === 0),
      JSON.stringify(ended),
    );
    const grown = Object.entries(after).flatMap(([name, value]) =>
      value === (before[name] ?? 0) ? [] : [[name, value - (before[name] ?? 0)]],
    );
    assert.deepEqual(Object.fromEntries(grown), {
      'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pod_updated"}': 1,
      'kubelet_pod_deferred_resize_duration_seconds_count{priority_bucket="normal",resolution="accepted"}': 1,
      'kubelet_container_requested_resizes_total{operation="increase",requirement="requests",resource="cpu"}': 1,
      'kubelet_container_requested_resizes_total{operation="decrease",requirement="requests",resource="cpu"}': 1,
      'kubelet_pod_resize_duration_milliseconds_count{success="true"}': 2,
    });
  });

  test('goes before those of a lower priority or QoS class, and is not held up by one that is too large', async () => {
    const className = `${node.namespace}-important`;
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    await node.api.create(classes, { metadata: { name: className }, value: 1000 });
    try {
      await create('large', withResources(small));
      await create('burstable', { priorityClassName: className, ...withResources(small) });
      await create('guaranteed', { priorityClassName: className, ...withResources(guaranteed('20m', '32Mi')) });
      // 100m are free.
      await create('rest', withResources(cpu(allocatable - 890 - 5 * 20 - 100)));
      await resizes.of('large', cpu(allocatable - 100));
      await resizes.untilDeferred('large');
      await resizes.of('burstable', cpu(220));
      await resizes.untilDeferred('burstable');
      await resizes.of('guaranteed', guaranteed('220m', '32Mi'));
      await resizes.untilDeferred('guaranteed');
      await resizes.of('rest', cpu(allocatable - 890 - 5 * 20 - 250));
      await untilAllocated('guaranteed', '220m', Date.now());
      await resizes.until('rest', () => true);
      const others = await Promise.all(['large', 'burstable'].map((name) => node.get(name)));
      assert.deepEqual(
        others.map((pod) => [pendingReason(pod), allocatedCPU(pod)]),
        [
          ['Deferred', '20m'],
          ['Deferred', '20m'],
        ],
      );
      // The free amount in the message has changed, the request has not.
      for (const name of ['large', 'burstable']) await resizes.untilEvents(name, 'ResizeDeferred');
      await Promise.all(['large', 'burstable', 'guaranteed', 'rest'].map((name) => node.delete(name, { gracePeriodSeconds: 1 })));
      await Promise.all(['large', 'burstable', 'guaranteed', 'rest'].map((name) => node.untilGone(name)));
    } finally {
      await node.api.delete(`${classes}/${className}`);
    }
  });

  test('ends a less important pod when its own is critical, and is in force then', async () => {
    await resizes.of('undecided', cpu(20));
    await resizes.until('undecided', ({ allocatedResources }) => allocatedResources?.['cpu'] === '20m');
    await create('victim', withResources(cpu(allocatable - 3 * 20 - 50)));
    await create('critical', { priorityClassName: 'system-node-critical', ...withResources(cpu(20)) });
    await resizes.of('critical', cpu(500));
    const victim = await node.untilEnded('victim');
    assert.deepEqual(
      [victim.status?.phase, victim.status?.reason, victim.status?.message],
      ['Failed', 'Preempting', 'Preempted in order to admit critical pod'],
    );
    assert.equal(conditionOf(victim.status, 'DisruptionTarget'), 'True');
    await node.untilEvent('victim', 'Preempting', /^Preempted in order to admit critical pod$/);
    const resized = await resizes.until('critical', ({ allocatedResources }) => allocatedResources?.['cpu'] === '500m');
    assert.deepEqual([(await resizes.values('critical'))[0], resizes.podValues(resized)[0]], ['512', '512']);
    assert.equal(appOf(resized)?.restartCount, 0);
    for (const name of ['greedy', 'neighbour', 'undecided']) assert.equal((await node.get(name)).status?.phase, 'Running', name);
  });
});
