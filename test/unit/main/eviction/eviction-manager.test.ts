import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import { EvictionNode } from '../../../support/eviction/node.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

const mb = 1e6;
const hardMemory = { evictionHard: { 'memory.available': '1G' } };
const softMemory = { evictionSoft: { 'memory.available': '2G' }, evictionSoftGracePeriod: { 'memory.available': '30s' } };
const hardDisk = { evictionHard: { 'nodefs.available': '10%' } };

function apiPod(name: string, spec: Partial<AllocatedPod['spec']> = {}): AllocatedPod {
  return aPod({ metadata: { name, uid: `uid-${name}`, annotations: {} }, spec });
}

/** Two pods: `large` is evicted first. */
function withTwoPods(node: EvictionNode): EvictionNode {
  node.pods = [apiPod('small'), apiPod('large')];
  const stats = (memoryBytes: number, usedBytes = 0) => ({
    memoryBytes,
    containers: [{ name: 'app', memoryBytes, rootfs: { usedBytes } }],
    volumes: [],
  });
  node.podStats = { small: stats(100 * mb, 10), large: stats(900 * mb, 20) };
  return node;
}

/** A pod that exceeds the size of its emptyDir. */
function addViolator(node: EvictionNode, name: string): void {
  node.pods = [...node.pods, apiPod(name, { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1M' } }] })];
  node.podStats = { ...node.podStats, [name]: { memoryBytes: 1, containers: [], volumes: [{ name: 'scratch', usedBytes: 2 * mb }] } };
}

test('a node without pressure measures nothing and evicts nothing', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.setMemory(5e9);
  await node.pass();
  assert.deepEqual([node.evicted, node.samples, node.events, [...node.pressure.conditions]], [[], [], [], []]);
});

test('a decision is made with fresh values: pressure that has passed evicts nothing', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.setMemory(0.5e9);
  node.onSample = () => node.setMemory(5e9);
  await node.pass();
  assert.deepEqual([node.evicted, node.samples.length, [...node.pressure.conditions]], [[], 1, []]);
});

test('under memory pressure one pod is evicted, and the next one when it has ended and pressure remains', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.onSample = () => node.setMemory(0.5e9);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['large']);
  assert.deepEqual([...node.pressure.conditions], ['MemoryPressure']);
  for (let passes = 0; passes < 3; passes += 1) {
    await node.clock.advance(10_000);
    node.setMemory(0.5e9);
    await node.pass();
  }
  assert.deepEqual(node.evicted, ['large'], 'the pod has not ended yet');
  node.finish('large');
  await node.clock.advance(1000);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['large', 'small']);
});

test('the same measurement never causes a second eviction, also when the clock was set back', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.setMemory(0.5e9);
  await node.pass();
  node.finish('large');
  await node.clock.advance(10_000);
  await node.pass();
  assert.deepEqual(node.evicted, ['large']);
  const memory = node.stats.memory!;
  node.stats = { memory: { ...memory, atMs: memory.atMs - 3_600_000 } };
  await node.pass();
  assert.deepEqual(node.evicted, ['large', 'small']);
});

test('a pod that cannot be ended delays the next eviction, but is passed over afterwards', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.onSample = () => node.setMemory(0.5e9);
  node.setMemory(0.5e9);
  await node.pass();
  node.kills[0]!.settle.reject(new Error('the pod did not end'));
  for (let ms = 0; ms <= 60_000; ms += 10_000) {
    await node.clock.advance(10_000);
    node.setMemory(0.5e9);
    await node.pass();
  }
  assert.deepEqual(node.evicted, ['large', 'small']);
});

test('a soft threshold evicts after its grace period, with the grace period that is allowed at most', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: softMemory, maxPodGracePeriodSeconds: 5 }));
  const passes: string[][] = [];
  for (let ms = 0; ms <= 30_000; ms += 10_000) {
    node.setMemory(1.5e9);
    await node.pass();
    passes.push(node.evicted);
    await node.clock.advance(10_000);
  }
  assert.deepEqual(passes, [[], [], [], ['large']]);
  assert.equal(node.kills[0]!.gracePeriodOverrideSeconds, 5);
});

test('a hard threshold shortens the end of a pod that was evicted for a soft one', async () => {
  const thresholds = { ...softMemory, ...hardMemory, evictionSoftGracePeriod: { 'memory.available': '0.001s' } };
  const node = withTwoPods(new EvictionNode({ thresholds, maxPodGracePeriodSeconds: 30 }));
  node.setMemory(1.5e9);
  await node.pass();
  await node.clock.advance(10);
  node.setMemory(1.5e9);
  await node.pass();
  await node.clock.advance(10);
  node.setMemory(0.5e9);
  assert.equal(node.manager.plan().action?.victim, 'uid-large', 'the dry run chooses alike');
  await node.pass();
  assert.deepEqual(
    node.kills.map(({ pod, gracePeriodOverrideSeconds }) => [pod, gracePeriodOverrideSeconds]),
    [
      ['large', 30],
      ['large', 1],
    ],
  );
});

test('static and critical pods are never evicted', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.pods = [aPod({ metadata: { name: 'large' } }), apiPod('small', { priority: 2_000_000_000 })];
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, []);
  assert.equal(node.manager.plan().action!.victim, null);
});

test('node-level reclaim comes first, and no pod is evicted when it suffices', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardDisk }));
  node.setDisk(5e9);
  node.onReclaim = (step) => {
    if (step === 'unusedImages') node.setDisk(50e9);
  };
  await node.pass();
  assert.deepEqual([node.reclaims, node.evicted], [['deadContainers', 'unusedImages'], []]);
  assert.deepEqual([...node.pressure.conditions], ['DiskPressure']);
});

test('a pod is evicted when node-level reclaim does not reach the minimum', async () => {
  const thresholds = { ...hardDisk, evictionMinimumReclaim: { 'nodefs.available': '10%' } };
  const node = withTwoPods(new EvictionNode({ thresholds }));
  node.setDisk(5e9);
  node.onReclaim = () => node.setDisk(15e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['large']);
});

test('a reclaim that hangs delays no eviction for memory, and those for disk for two minutes', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: { evictionHard: { ...hardMemory.evictionHard, ...hardDisk.evictionHard } } }));
  node.onReclaim = () => new Promise<void>(() => {});
  node.setMemory(5e9);
  node.setDisk(5e9);
  await node.manager.pass();
  await node.clock.advance(10_000);
  node.setDisk(5e9);
  node.setMemory(0.5e9);
  await node.manager.pass();
  assert.deepEqual([node.reclaims, node.evicted], [['deadContainers'], ['large']]);
  node.finish('large');
  await node.clock.advance(120_000);
  node.setMemory(5e9);
  node.setDisk(5e9);
  await node.manager.pass();
  assert.deepEqual([node.reclaims, node.evicted], [['deadContainers'], ['large', 'small']]);
});

test('no pod is evicted while the runtime frees the storage of removed containers', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardDisk }));
  node.onReclaim = () => {
    node.containersRemovedAtMs = node.clock.monotonic();
  };
  node.setDisk(5e9);
  await node.pass();
  await node.clock.advance(8000);
  await node.manager.pass();
  assert.deepEqual(node.evicted, []);
  node.setDisk(50e9);
  await node.clock.advance(1000);
  await node.manager.pass();
  assert.deepEqual([node.reclaims, node.evicted], [['deadContainers', 'unusedImages'], []]);
});

test('a disk that is freed while another resource becomes scarce evicts no pod for the disk', async () => {
  const evictionHard = { 'imagefs.available': '10%', 'nodefs.inodesFree': '10%' };
  const node = withTwoPods(new EvictionNode({ thresholds: { evictionHard }, layout: { dedicatedImageFs: true, splitContainerFs: false } }));
  const removed = Promise.withResolvers<void>();
  node.onReclaim = () => removed.promise;
  const setDisks = (availableBytes: number, inodesFree: number) => {
    const atMs = node.clock.now();
    const imagefs = { availableBytes, capacityBytes: 100e9, atMs };
    node.stats = { imagefs, nodefs: { inodesFree, inodes: 6000, atMs } };
  };
  setDisks(0, 6000);
  await node.manager.pass();
  await node.clock.advance(10_000);
  node.onSample = () => setDisks(100e9, 0);
  removed.resolve();
  await node.clock.advance(1000);
  await node.manager.pass();
  assert.deepEqual(node.reclaims, ['deadContainers', 'unusedImages']);
  assert.deepEqual(
    node.kills.map(({ failed }) => failed?.message.split('. ')[0]),
    ['The node was low on resource: inodes'],
  );
});

test('a disk that is still full when all storage was freed leads to an eviction, and memory to one meanwhile', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: { evictionHard: { ...hardMemory.evictionHard, ...hardDisk.evictionHard } } }));
  node.onReclaim = () => {
    node.containersRemovedAtMs = node.clock.monotonic();
  };
  node.setMemory(5e9);
  node.setDisk(5e9);
  await node.pass();
  await node.clock.advance(1000);
  node.setMemory(0.5e9);
  await node.manager.pass();
  assert.deepEqual(node.evicted, ['large']);
  node.finish('large');
  await node.clock.advance(28_000);
  node.setMemory(5e9);
  await node.manager.pass();
  assert.deepEqual(node.evicted, ['large']);
  await node.clock.advance(1000);
  await node.manager.pass();
  assert.deepEqual(
    [node.reclaims, node.evicted],
    [
      ['deadContainers', 'unusedImages'],
      ['large', 'small'],
    ],
  );
});

test('after a reclaim too, no pod is evicted softly beside another one', async () => {
  const signals = { 'memory.available': '0.001s', 'nodefs.available': '0.001s' };
  const thresholds = { evictionSoft: { 'memory.available': '1G', 'nodefs.available': '10%' }, evictionSoftGracePeriod: signals };
  const node = withTwoPods(new EvictionNode({ thresholds, maxPodGracePeriodSeconds: 60 }));
  node.onReclaim = () => {
    node.containersRemovedAtMs = node.clock.monotonic();
  };
  const run = async (seconds: number, availableBytes: number) => {
    for (let second = 0; second < seconds; second += 1) {
      node.setMemory(availableBytes);
      node.setDisk(5e9);
      await node.manager.pass();
      await node.clock.advance(1000);
    }
  };
  await run(3, 5e9);
  assert.deepEqual(node.reclaims, ['deadContainers', 'unusedImages']);
  await run(40, 0.5e9);
  assert.deepEqual(node.evicted, ['large']);
  node.finish('large');
  await run(40, 0.5e9);
  assert.deepEqual(node.evicted, ['large', 'small']);
});

test('a failed step of reclaim is followed by the next one', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardDisk }));
  node.onReclaim = () => Promise.reject(new Error('the runtime does not answer'));
  node.setDisk(5e9);
  await node.pass();
  assert.deepEqual([node.reclaims, node.evicted], [['deadContainers', 'unusedImages'], ['large']]);
});

test('a measurement that fails or hangs leaves the older values', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.onSample = () => Promise.reject(new Error('the thread has died'));
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['large']);
});

test('pods that exceed limits of local storage are evicted together, before others', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  addViolator(node, 'first');
  addViolator(node, 'second');
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['first', 'second']);
  const [{ failed, gracePeriodOverrideSeconds }] = node.kills as [(typeof node.kills)[0]];
  assert.deepEqual(
    [failed, gracePeriodOverrideSeconds],
    [{ reason: 'Evicted', message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1M". ' }, 1],
  );
});

test('a pod that exceeds a limit is evicted once, also when it does not end', async () => {
  const node = new EvictionNode();
  addViolator(node, 'stuck');
  for (let passes = 0; passes < 10; passes += 1) {
    await node.pass();
    await node.clock.advance(10_000);
  }
  assert.deepEqual(node.evicted, ['stuck']);
  assert.equal(node.events.length, 1);
});

test('a tenant that keeps creating pods above their limits delays other evictions by half a minute at most', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  const firstVictim: string[] = [];
  for (let ms = 0; ms <= 30_000; ms += 10_000) {
    addViolator(node, `violator-${ms}`);
    node.setMemory(0.5e9);
    await node.pass();
    if (node.evicted.includes('large')) firstVictim.push(`after ${ms} ms`);
    await node.clock.advance(10_000);
  }
  assert.deepEqual(firstVictim, ['after 30000 ms']);
});

test('without localStorageCapacityIsolation no pod is evicted for its limits', async () => {
  const node = new EvictionNode({ localStorageCapacityIsolation: false, thresholds: hardMemory });
  addViolator(node, 'violator');
  node.setMemory(5e9);
  await node.pass();
  assert.deepEqual([node.evicted, node.manager.plan().localStorageViolations], [[], []]);
});

test('pods of which nothing runs on the node are not evicted', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.finished.add('uid-large' as never);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['small']);
});

test('a condition stays for the transition period after its last threshold was met', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory, pressureTransitionPeriodMs: 60_000 }));
  let changes = 0;
  node.pressure.onChanged(() => (changes += 1));
  node.setMemory(0.5e9);
  await node.pass();
  const shown: boolean[] = [];
  for (let ms = 0; ms < 80_000; ms += 20_000) {
    await node.clock.advance(20_000);
    node.setMemory(5e9);
    await node.pass();
    shown.push(node.pressure.has('MemoryPressure'));
  }
  assert.deepEqual([shown, changes], [[true, true, false, false], 2]);
});

test('while the filesystems are not known, memory is protected and disks are not', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory, layout: null }));
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, ['large']);
  assert.equal(node.manager.plan().filesystems, null);
});

test('checks start one pass, with fresh values, and no more than one a second', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  node.onSample = () => node.setMemory(5e9);
  const stop = new AbortController();
  const running = node.manager.run(stop.signal);
  await node.clock.advance(2000);
  assert.equal(node.samples.length, 0);
  for (let ms = 0; ms < 3000; ms += 10) {
    node.manager.check();
    await node.clock.advance(10);
  }
  assert.ok(node.samples.length >= 2 && node.samples.length <= 4, `${node.samples.length} samples in three seconds of checks`);
  assert.ok(node.samples.every(({ filesystems }) => !filesystems));
  stop.abort();
  await running;
});

test('a pass that throws is followed by others', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: hardMemory }));
  const stop = new AbortController();
  let fails = true;
  node.pressure.onChanged(() => {
    if (fails) throw new Error('a listener fails');
  });
  node.setMemory(0.5e9);
  const running = node.manager.run(stop.signal);
  await node.clock.advance(100);
  assert.deepEqual(node.evicted, []);
  fails = false;
  node.setMemory(0.4e9);
  await node.clock.advance(15_000);
  assert.deepEqual(node.evicted, ['large']);
  stop.abort();
  await running;
});

test('a plan shows what a pass would do, and changes nothing', async () => {
  const node = withTwoPods(
    new EvictionNode({ thresholds: { ...hardMemory, ...softMemory, evictionMinimumReclaim: { 'memory.available': '500M' } } }),
  );
  addViolator(node, 'violator');
  node.pods = [...node.pods, aPod({ spec: { containers: [aContainer({ resources: { requests: { memory: '1G' } } })] } })];
  node.setMemory(0.5e9);
  const plan = node.manager.plan();
  assert.deepEqual([node.kills, node.events, node.samples, [...node.pressure.conditions]], [[], [], [], []]);
  assert.deepEqual(
    plan.thresholds.map(({ kind, value, quantity, minReclaimQuantity, met, graceLeftSeconds }) => [
      kind,
      value,
      quantity,
      minReclaimQuantity,
      met,
      graceLeftSeconds,
    ]),
    [
      ['hard', '1G', 1e9, 0.5e9, true, 0],
      ['soft', '2G', 2e9, 0.5e9, true, 30],
    ],
  );
  assert.deepEqual(plan.action, { signal: 'memory.available', resource: 'memory', threshold: '1G', nodeReclaim: [], victim: 'uid-large' });
  assert.deepEqual(
    plan.ranking.pods.map(({ name, usage, request, notEvictableBecause }) => [name, usage, request, notEvictableBecause]),
    [
      ['web', null, 1e9, 'static'],
      ['large', 900 * mb, 0, null],
      ['small', 100 * mb, 0, null],
      ['violator', 1, 0, null],
    ],
  );
  assert.deepEqual(
    plan.localStorageViolations.map(({ name, usedBytes, limitBytes }) => [name, usedBytes, limitBytes]),
    [['violator', 2 * mb, mb]],
  );
  await node.pass();
  assert.equal(node.evicted[0], 'violator');
});

test('a plan shows the pods that were evicted and have not finished, and reclaim that runs', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: { evictionHard: { ...hardMemory.evictionHard, ...hardDisk.evictionHard } } }));
  const inProgress = () => {
    const { isReclaiming, action, ranking } = node.manager.plan();
    return [isReclaiming, action?.victim, ranking.pods.filter(({ isEvicted }) => isEvicted).map(({ name }) => name)];
  };
  node.setMemory(0.5e9);
  node.setDisk(50e9);
  await node.manager.pass();
  assert.deepEqual(inProgress(), [false, 'uid-small', ['large']]);
  node.finish('large');
  assert.deepEqual(inProgress(), [false, 'uid-small', []]);
  node.onReclaim = () => new Promise<void>(() => {});
  await node.clock.advance(10_000);
  node.setMemory(5e9);
  node.setDisk(5e9);
  await node.manager.pass();
  assert.deepEqual(inProgress(), [true, 'uid-small', []]);
});

test('the runtime is asked for its filesystems under disk pressure only', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: { evictionHard: { 'memory.available': '1G', 'imagefs.available': '10%' } } }));
  node.setMemory(0.5e9);
  node.setDisk(50e9);
  await node.pass();
  node.finish('large');
  await node.clock.advance(10_000);
  node.setMemory(5e9);
  node.setDisk(5e9);
  await node.pass();
  assert.deepEqual(
    node.samples.map(({ filesystems }) => filesystems),
    [false, false, true, true],
  );
});

test('a changed threshold counts from the next pass on, and a removed one no more', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: {} }));
  node.onSample = () => node.setMemory(0.5e9);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual(node.evicted, []);
  const { thresholds } = new EvictionNode({ thresholds: hardMemory }).settings;
  node.settings = { ...node.settings, thresholds };
  await node.clock.advance(10_000);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual([node.evicted, [...node.pressure.conditions]], [['large'], ['MemoryPressure']]);
  node.finish('large');
  node.settings = { ...node.settings, thresholds: [], pressureTransitionPeriodMs: 0 };
  await node.clock.advance(10_000);
  node.setMemory(0.5e9);
  await node.pass();
  assert.deepEqual([node.evicted, [...node.pressure.conditions]], [['large'], []]);
});

test('without thresholds no pass runs until there is one', async () => {
  const node = withTwoPods(new EvictionNode({ thresholds: {}, localStorageCapacityIsolation: false }));
  node.onSample = () => node.setMemory(0.5e9);
  node.setMemory(0.5e9);
  const stop = new AbortController();
  const running = node.manager.run(stop.signal);
  await node.clock.advance(60_000);
  assert.deepEqual(node.samples, []);
  const { thresholds } = new EvictionNode({ thresholds: hardMemory }).settings;
  node.settings = { ...node.settings, thresholds };
  node.manager.check();
  await node.clock.advance(2000);
  assert.deepEqual(node.evicted, ['large']);
  stop.abort();
  await running;
});
