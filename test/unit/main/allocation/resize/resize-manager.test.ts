import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asAllocated, ResizeConditions, ResizeManager, type AllocatedPod } from '../../../../../src/main/allocation/index.ts';
import type { ResizeSettings } from '../../../../../src/main/allocation/resize/feasibility.ts';
import { computeActuated, type ActuatedRecord } from '../../../../../src/main/allocation/actuated-resources.ts';
import { toAllocation, withAllocation, type PodAllocation } from '../../../../../src/main/allocation/pod-allocation.ts';
import type { RecordedEvent } from '../../../../../src/shared/contracts/event.ts';
import type { Pod, PodCondition } from '../../../../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { milliValue } from '../../../../../src/shared/kubernetes/quantity.ts';
import { podRequests } from '../../../../../src/shared/kubernetes/pod-resources.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { silentLogger } from '../../../../support/logger.ts';
import { aContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const gates = { podLevel: true, initContainers: true };
const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const podOf = (name: string, cpu: string, generation = 1, more: { priority?: number; conditions?: PodCondition[] } = {}) =>
  aPod({
    metadata: { name, uid: name, generation, annotations: { 'kubernetes.io/config.source': 'api' } },
    spec: { containers: [aContainer({ resources: { requests: { cpu } } })], ...(more.priority && { priority: more.priority }) },
    ...(more.conditions && { status: { conditions: more.conditions } }),
  });
const guaranteed = (name: string, cpu: string, generation: number) => {
  const pod = podOf(name, cpu, generation);
  const resources = { requests: { cpu, memory: '1Mi' }, limits: { cpu, memory: '1Mi' } };
  return { ...pod, spec: { ...pod.spec, containers: [aContainer({ resources })] } };
};
const milliOf = (pod: Pod) => milliValue(podRequests(pod)['cpu']);

/** A node with this many thousandths of a CPU, whose pods have been admitted. */
function aNode(capacity: number, settings: Partial<ResizeSettings> = {}) {
  const clock = new FakeClock();
  const wanted = new Map<PodUID, Pod>();
  const allocations = new Map<PodUID, PodAllocation>();
  const actuated = new Map<PodUID, ActuatedRecord>();
  const events: RecordedEvent[] = [];
  const state = {
    synced: [] as string[],
    retried: [] as string[],
    timeline: [] as string[],
    writeError: null as Error | null,
    sourcesReady: true,
  };
  const allocatedPod = (pod: Pod): AllocatedPod => {
    const allocation = allocations.get(podUID(pod));
    return asAllocated(allocation ? withAllocation(pod, allocation, gates) : pod);
  };
  const conditions = new ResizeConditions(clock);
  const manager = new ResizeManager({
    settings: {
      cgroupVersion: 2,
      podLevel: true,
      memoryBackedVolumes: false,
      exclusiveCPUs: false,
      exclusiveMemory: false,
      limitedSwap: false,
      ...settings,
    },
    podLevelResources: true,
    allocationManager: {
      isAdmitted: (uid) => allocations.has(uid),
      updatePodFromAllocation: allocatedPod,
      resize: async (pod) => {
        if (state.writeError) throw state.writeError;
        const uid = podUID(pod);
        actuated.set(uid, computeActuated(allocations.get(uid)!, undefined));
        allocations.set(uid, toAllocation(pod, gates));
        return Promise.resolve();
      },
      actuated: (uid) => actuated.get(uid),
      setActuated: (uid, changes) => void actuated.set(uid, changes),
      takeUnrecorded: () => false,
    },
    conditions,
    wanted: (uid) => wanted.get(uid),
    runtimeStatus: () => null,
    timelines: {
      beginUnlessOpen: (uid) => state.timeline.push(`${uid} begins`),
      end: (uid, _, { failed }) => state.timeline.push(`${uid} ${failed ? 'fails' : 'ends'}`),
      wait: (uid, _, kind) => {
        state.timeline.push(`${uid} waits for ${kind}`);
        return () => state.timeline.push(`${uid} goes on`);
      },
    },
    refusal: (pod) => {
      const used = [...wanted.values()].reduce((sum, other) => (other === pod ? sum : sum + milliOf(allocatedPod(other))), 0);
      return milliOf(pod) > capacity - used ? { message: `used: ${used}` } : null;
    },
    onAllocated: (pod) => state.synced.push(`${pod.metadata.name} ${milliOf(pod)}`),
    onConditions: () => {},
    syncAfter: (uid, delayMs) => state.retried.push(`${uid} ${delayMs}`),
    sourcesReady: () => state.sourcesReady,
    events: { record: (event) => void events.push(event) },
    clock,
    logger: silentLogger,
  });
  const node = {
    state,
    clock,
    conditions,
    manager,
    actuated,
    reasons: () => events.map(({ object, reason }) => `${object.name} ${reason}`),
    messages: () => events.map(({ message }) => message),
    pending: (name: string) => conditions.get(name as PodUID)?.pending,
    inProgress: (name: string) => conditions.get(name as PodUID)?.inProgress,
    admit: (...pods: Pod[]) => {
      for (const pod of pods) {
        wanted.set(podUID(pod), pod);
        allocations.set(podUID(pod), toAllocation(pod, gates));
      }
    },
    update: async (...pods: Pod[]) => {
      for (const pod of pods) {
        const before = wanted.get(podUID(pod));
        wanted.set(podUID(pod), pod);
        manager.onChanged(before, pod);
      }
      await settle();
    },
    end: async (name: string) => {
      wanted.delete(name as PodUID);
      manager.retry('pod_terminated');
      await settle();
    },
    /** What was allocated is in force now. */
    actuate: (name: string) => {
      const pod = wanted.get(name as PodUID)!;
      const { containers } = allocations.get(podUID(pod))!;
      actuated.set(podUID(pod), { containers });
      manager.observe(allocatedPod(pod), running);
    },
    allocatedPod: (name: string) => allocatedPod(wanted.get(name as PodUID)!),
  };
  return node;
}

test('what fits is allocated at once, in progress until it is in force, and recorded', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  await node.update(podOf('a', '300m', 2));
  assert.deepEqual(node.state.synced, ['a 300']);
  assert.deepEqual([node.inProgress('a')?.observedGeneration, node.pending('a')], [2, undefined]);
  node.manager.observe(node.allocatedPod('a'), running);
  assert.ok(node.inProgress('a'));
  node.actuate('a');
  assert.equal(node.conditions.get('a' as PodUID), undefined);
  assert.deepEqual(node.reasons(), ['a ResizeStarted', 'a ResizeCompleted']);
  assert.equal(
    node.messages()[1],
    'Pod resize completed: {"containers":[{"name":"app","resources":{"requests":{"cpu":"300m"}}}],"generation":2}',
  );
});

test('what does not fit is deferred with one event for each generation, and allocated when a pod has ended', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'), podOf('b', '700m'), podOf('c', '100m'));
  await node.update(podOf('a', '500m', 2));
  assert.deepEqual([node.pending('a')?.reason, node.pending('a')?.message], ['Deferred', 'used: 800']);
  await node.end('c');
  assert.deepEqual([node.pending('a')?.message, node.reasons()], ['used: 700', ['a ResizeDeferred']]);
  await node.update(podOf('a', '600m', 3));
  assert.deepEqual(node.reasons(), ['a ResizeDeferred', 'a ResizeDeferred']);
  await node.end('b');
  assert.deepEqual([node.state.synced, node.pending('a')], [['a 600'], undefined]);
});

test('what another pod frees by its resize is allocated, first to the most important', async () => {
  const node = aNode(1000);
  node.admit(podOf('low', '100m'), podOf('high', '100m'), podOf('big', '800m'));
  await node.update(podOf('low', '300m', 2), podOf('high', '300m', 2, { priority: 1000 }));
  assert.deepEqual(node.state.synced, []);
  await node.update(podOf('big', '600m', 2));
  assert.deepEqual(node.state.synced, ['big 600', 'high 300']);
  assert.equal(node.pending('low')?.reason, 'Deferred');
});

test('one that does not fit holds up no smaller one', async () => {
  const node = aNode(1000);
  node.admit(podOf('large', '100m', 1, { priority: 1000 }), podOf('small', '100m'), podOf('other', '800m'));
  await node.update(podOf('large', '900m', 2, { priority: 1000 }), podOf('small', '150m', 2));
  assert.deepEqual(node.state.synced, []);
  await node.update(podOf('other', '700m', 2));
  assert.deepEqual(node.state.synced, ['other 700', 'small 150']);
});

test('a resize that is taken back is not pending any more', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  await node.update(podOf('a', '2', 2));
  await node.update(podOf('a', '0.1', 3));
  assert.equal(node.pending('a'), undefined);
  await node.end('b');
  assert.deepEqual(node.state.synced, []);
});

test('a resize that can’t be recorded is not granted, says so, and is tried again', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  node.state.writeError = new Error('ENOSPC: no space left on device');
  await node.update(podOf('a', '300m', 2));
  assert.deepEqual(node.pending('a')?.message, 'cannot record the allocation: ENOSPC: no space left on device');
  assert.deepEqual([milliOf(node.allocatedPod('a')), node.state.synced], [100, ['a 100']]);
  node.state.writeError = null;
  await node.clock.advance(10_000);
  assert.deepEqual([node.state.synced, node.pending('a')], [['a 100', 'a 300'], undefined]);
});

test('an error is in the condition with one event, tried again with growing pauses, and gone when the resize is in force', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  await node.update(podOf('a', '300m', 2));
  for (let count = 0; count < 6; count += 1) node.manager.onError(node.allocatedPod('a'), 'rpc error: code = Unavailable');
  assert.deepEqual(
    node.state.retried,
    [1000, 2000, 4000, 8000, 10_000, 10_000].map((ms) => `a ${ms}`),
  );
  assert.deepEqual([node.inProgress('a')?.reason, node.inProgress('a')?.message], ['Error', 'rpc error: code = Unavailable']);
  // The sync that tries again begins.
  node.manager.observe(node.allocatedPod('a'), running);
  node.actuate('a');
  assert.deepEqual(node.reasons(), ['a ResizeStarted', 'a ResizeError', 'a ResizeCompleted']);
});

test('an error has one event for its resize, whatever its message says of the usage', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  await node.update(podOf('a', '300m', 2));
  for (const usage of [70, 71, 72]) node.manager.onError(node.allocatedPod('a'), `memory limit (50) below current usage (${usage})`);
  assert.deepEqual(node.reasons(), ['a ResizeStarted', 'a ResizeError']);
  assert.equal(node.inProgress('a')?.message, 'memory limit (50) below current usage (72)');
  await node.update(podOf('a', '400m', 3));
  node.manager.onError(node.allocatedPod('a'), 'again');
  assert.deepEqual(node.reasons().slice(2), ['a ResizeStarted', 'a ResizeError']);
});

test('a resize with an error is not complete while its container waits to restart', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  await node.update(podOf('a', '300m', 2));
  const inBackOff = aRuntimePodStatus({ containers: [aRuntimeContainer({ state: 'exited' })] });
  for (let count = 0; count < 3; count += 1) {
    node.manager.observe(node.allocatedPod('a'), inBackOff);
    if (count === 0) assert.deepEqual(node.reasons(), ['a ResizeStarted', 'a ResizeCompleted']);
    node.manager.onError(node.allocatedPod('a'), 'the pod cgroup is busy');
  }
  assert.deepEqual(node.reasons().slice(2), ['a ResizeError']);
  node.manager.observe(node.allocatedPod('a'), inBackOff);
  node.manager.observe(node.allocatedPod('a'), inBackOff);
  assert.deepEqual(node.reasons().slice(3), ['a ResizeCompleted']);
});

test('a resize of a kubelet that ended before it could report it is in progress, and completes', () => {
  const node = aNode(1000);
  node.admit(podOf('a', '300m', 2));
  node.actuated.set('a' as PodUID, computeActuated(toAllocation(podOf('a', '100m'), gates), undefined));
  node.manager.onAdded(podOf('a', '300m', 2));
  node.manager.observe(node.allocatedPod('a'), running);
  assert.equal(node.inProgress('a')?.observedGeneration, 2);
  node.actuate('a');
  assert.deepEqual([node.reasons(), node.inProgress('a')], [['a ResizeCompleted'], undefined]);
});

test('a sync that began before a resize was allocated does not complete it', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'));
  const synced = node.allocatedPod('a');
  await node.update(podOf('a', '300m', 2));
  node.manager.observe(synced, running);
  assert.deepEqual(node.reasons(), ['a ResizeStarted']);
  node.actuate('a');
  assert.deepEqual(node.reasons(), ['a ResizeStarted', 'a ResizeCompleted']);
});

test('an infeasible resize is decided once, until something else is asked for', async () => {
  const node = aNode(1000, { exclusiveCPUs: true });
  node.admit(guaranteed('a', '100m', 1));
  await node.update(guaranteed('a', '300m', 2));
  const decisions = () => node.state.timeline.filter((line) => line === 'a fails').length;
  assert.deepEqual([node.pending('a')?.reason, decisions()], ['Infeasible', 1]);
  await node.update(guaranteed('a', '300m', 3));
  assert.deepEqual([decisions(), node.reasons()], [1, ['a ResizeInfeasible']]);
  await node.update(guaranteed('a', '400m', 4));
  assert.deepEqual([decisions(), node.reasons()], [2, ['a ResizeInfeasible', 'a ResizeInfeasible']]);
});

test('a pod is made smaller also on a node that is too small for its pods', async () => {
  const node = aNode(500);
  node.admit(podOf('a', '300m'), podOf('b', '700m'));
  await node.update(podOf('a', '200m', 2));
  assert.deepEqual([node.state.synced, node.pending('a')], [['a 200'], undefined]);
});

test('after a restart nothing is reported a second time, and what is pending goes on', async () => {
  const node = aNode(1000);
  const condition = { type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'old', observedGeneration: 2 } as const;
  node.admit(podOf('a', '100m'), podOf('b', '800m'));
  const wanted = podOf('a', '500m', 2, { conditions: [condition] });
  await node.update(podOf('a', '100m'));
  node.state.sourcesReady = false;
  node.manager.onAdded(wanted);
  assert.equal(node.pending('a')?.message, 'old');
  node.state.sourcesReady = true;
  await node.update(wanted);
  assert.deepEqual([node.reasons(), node.pending('a')?.message], [[], 'used: 800']);
  await node.end('b');
  assert.deepEqual(node.state.synced, ['a 500']);
});

test('the timeline shows what each resize waits for', async () => {
  const node = aNode(1000);
  node.admit(podOf('a', '100m'), podOf('b', '800m'));
  await node.update(podOf('a', '300m', 2));
  assert.deepEqual(node.state.timeline, ['a begins', 'a waits for Room']);
  await node.end('b');
  node.actuate('a');
  assert.deepEqual(node.state.timeline.slice(2), ['a goes on', 'a ends']);
  node.state.timeline.length = 0;
  await node.update(podOf('a', '9', 3));
  await node.update(podOf('a', '300m', 4));
  assert.deepEqual(node.state.timeline, ['a begins', 'a waits for Room', 'a goes on', 'a ends']);
});
