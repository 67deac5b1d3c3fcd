import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AllocationManager, type AllocatedPod } from '../../../src/main/allocation/index.ts';
import { decodeAllocations } from '../../../src/main/allocation/checkpoint.ts';
import type { Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { fnv32a } from '../../../src/shared/kubernetes/container-hash.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { Replacement } from '../../../src/shared/linux/write-durably.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger, silentLogger } from '../../support/logger.ts';
import { aPod } from '../../support/pods/pods.ts';

function aFolder(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), 'manager-'));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const { logger, lines } = aLogger();
  const open = () => AllocationManager.open({ rootDir, gates, clock: new FakeClock(), logger });
  return { rootDir, open, lines };
}
const gates = { podLevel: true, initContainers: false };
const uid = (name: string) => name as PodUID;
const aPodOf = (name: string, resources: ResourceRequirements = {}, podLevel?: ResourceRequirements) =>
  aPod({
    metadata: { name, uid: uid(name) },
    spec: { containers: [{ name: 'app', image: 'x', resources }], ...(podLevel && { resources: podLevel }) },
  });
const allocationsIn = (files: readonly Replacement[]) => files.find(({ path }) => path.endsWith('/allocated_pods_state'))?.content ?? '';
const inFile = (content: string) => [...decodeAllocations(content).keys()];

test('an admitted pod is admitted after a restart, a forgotten one is not', async (t) => {
  const { rootDir, open } = aFolder(t);
  const first = await open();
  for (const name of ['a', 'b']) first.setAllocatedResources(aPodOf(name));
  await first.close();
  const second = await open();
  assert.deepEqual([second.isAdmitted(uid('a')), second.isAdmitted(uid('b')), second.isAdmitted(uid('c'))], [true, true, false]);
  second.removeOrphanedPods(new Set([uid('b')]));
  await second.close();
  assert.deepEqual(inFile(readFileSync(join(rootDir, 'allocated_pods_state'), 'utf8')), ['b']);
});

// From upstream's state_checkpoint_test.go, with its checksum.
const fromGo = String.raw`{"data":"{\"entries\":{\"pod1\":{\"ContainerResources\":{\"container1\":{\"requests\":{\"cpu\":\"1Ki\",\"memory\":\"1Ki\"}}}}}}","checksum":1178570812}`;

test('pods that the Go kubelet admitted are admitted with their allocated resources', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  writeFileSync(join(rootDir, 'allocated_pods_state'), fromGo);
  const manager = await open();
  assert.deepEqual([manager.isAdmitted(uid('pod1')), lines], [true, []]);
  const pod = aPod({ metadata: { uid: 'pod1' }, spec: { containers: [{ name: 'container1', resources: { requests: { cpu: '1' } } }] } });
  assert.deepEqual(manager.updatePodFromAllocation(pod).spec.containers[0]?.resources, { requests: { cpu: '1Ki', memory: '1Ki' } });
});

test('allocated resources survive a restart, whatever the spec requests then', async (t) => {
  const { open } = aFolder(t);
  const first = await open();
  first.setAllocatedResources(aPodOf('a', { requests: { cpu: '1' } }, { limits: { memory: '1Gi' } }));
  await first.close();
  const second = await open();
  const resized = aPodOf('a', { requests: { cpu: '900' } }, { limits: { memory: '2Gi' } });
  const { spec } = second.updatePodFromAllocation(resized);
  assert.deepEqual([spec.containers[0]?.resources, spec.resources], [{ requests: { cpu: '1' } }, { limits: { memory: '1Gi' } }]);
  assert.equal(second.updatePodFromAllocation(resized), second.updatePodFromAllocation(resized));
  const same = aPodOf('a', { requests: { cpu: '1000m' } }, { limits: { memory: '1024Mi' } });
  assert.equal(second.updatePodFromAllocation(same), same);
});

test('a pod that is admitted again keeps its allocation unless it was removed meanwhile', async (t) => {
  const { open } = aFolder(t);
  const manager = await open();
  const cpuOf = (pod: Pod) => manager.updatePodFromAllocation(pod).spec.containers[0]?.resources?.requests?.['cpu'];
  const [small, large] = ['1', '2'].map((cpu) => aPodOf('a', { requests: { cpu } })) as [AllocatedPod, AllocatedPod];
  manager.setAllocatedResources(small);
  manager.setAllocatedResources(large);
  assert.equal(cpuOf(large), '1');
  manager.removePod(uid('a'));
  assert.deepEqual([manager.isAdmitted(uid('a')), cpuOf(large)], [true, '2']);
  manager.setAllocatedResources(large);
  assert.equal(cpuOf(small), '2');
  await manager.close();
});

test('admissions do not wait for a slow disk and are written together', async (t) => {
  const { rootDir } = aFolder(t);
  const logger = silentLogger;
  const clock = new FakeClock();
  const written: string[] = [];
  let isWritten = Promise.withResolvers<void>();
  const write = async (files: readonly Replacement[]) => {
    written.push(allocationsIn(files));
    await isWritten.promise;
  };
  const manager = await AllocationManager.open({ rootDir, gates, clock, logger, write, sync: async () => {} });
  for (const name of ['a', 'b', 'c', 'd']) {
    manager.setAllocatedResources(aPodOf(name));
    await clock.advance(20);
  }
  assert.deepEqual(written.map(inFile), [['a']]);
  isWritten.resolve();
  isWritten = Promise.withResolvers();
  await settle();
  assert.deepEqual(written.slice(1).map(inFile), [['a', 'b', 'c', 'd']]);
  manager.setAllocatedResources(aPodOf('e'));
  const closed = manager.close();
  isWritten.resolve();
  await closed;
  assert.deepEqual(written.slice(2).map(inFile), [['a', 'b', 'c', 'd', 'e']]);
});

test('a write that fails is repeated until it succeeds, and logged once', async (t) => {
  const { rootDir } = aFolder(t);
  const { logger, lines } = aLogger();
  const clock = new FakeClock();
  let isFull = true;
  const written: string[] = [];
  const write = async (files: readonly Replacement[]) => {
    if (isFull) throw new Error('ENOSPC');
    written.push(allocationsIn(files));
  };
  const manager = await AllocationManager.open({ rootDir, gates, clock, logger, write, sync: async () => {} });
  manager.setAllocatedResources(aPodOf('a'));
  await clock.advance(15_000);
  isFull = false;
  await clock.advance(10_000);
  assert.deepEqual(written.map(inFile), [['a']]);
  await clock.advance(60_000);
  isFull = true;
  manager.setAllocatedResources(aPodOf('b'));
  await clock.advance(20);
  isFull = false;
  manager.setAllocatedResources(aPodOf('c'));
  await clock.advance(20);
  assert.deepEqual(written.slice(1).map(inFile), [['a', 'b', 'c']]);
  assert.deepEqual(
    lines.map(({ level }) => level),
    [50, 30, 50, 30],
  );
  isFull = true;
  manager.setAllocatedResources(aPodOf('d'));
  await manager.close();
  isFull = false;
  await clock.advance(60_000);
  assert.equal(written.length, 2);
});

test('resizes of one moment are written together or not at all, so that one may use what another one frees', async (t) => {
  const { rootDir } = aFolder(t);
  let failure: Error | null = new Error('ENOSPC');
  const files: (readonly Replacement[])[] = [];
  const write = async (replaced: readonly Replacement[]) => {
    if (failure) throw failure;
    files.push(replaced);
  };
  const manager = await AllocationManager.open({
    rootDir,
    gates,
    clock: new FakeClock(),
    logger: silentLogger,
    write,
    sync: async () => {},
  });
  const [before, after] = [aPodOf('a', { requests: { cpu: '3' } }), aPodOf('a', { requests: { cpu: '1' } })];
  const [small, large] = [aPodOf('b', { requests: { cpu: '1' } }), aPodOf('b', { requests: { cpu: '3' } })];
  for (const pod of [before, small]) manager.setAllocatedResources(pod);
  const cpuOf = (pod: AllocatedPod) => pod.spec.containers[0]?.resources?.requests?.['cpu'];
  const counted = () => [manager.countedPod(after), manager.countedPod(after, true)].map(cpuOf);
  const resizes = [manager.resize(after)];
  assert.deepEqual(counted(), ['3', '1']);
  resizes.push(manager.resize(large));
  assert.deepEqual(
    (await Promise.allSettled(resizes)).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual(counted(), ['3', '3']);
  failure = null;
  const again = Promise.all([manager.resize(after), manager.resize(large)]);
  await settle();
  await again;
  assert.deepEqual(
    files.map((replaced) => replaced.map(({ path }) => path.slice(rootDir.length))),
    [['/actuated_pods_state', '/allocated_pods_state']],
  );
  await manager.close();
});

test('a hundred resizes within a second are written at most ten times, and each within half a second', async (t) => {
  const { rootDir } = aFolder(t);
  const clock = new FakeClock();
  let writes = 0;
  const write = async () => void (writes += 1);
  const manager = await AllocationManager.open({ rootDir, gates, clock, logger: silentLogger, write, sync: async () => {} });
  const names = Array.from({ length: 100 }, (_, index) => `pod-${index}`);
  for (const name of names) manager.setAllocatedResources(aPodOf(name, { requests: { cpu: '1' } }));
  await clock.advance(1000);
  writes = 0;
  const waitsMs: number[] = [];
  for (const name of names) {
    const beganAtMs = clock.monotonic();
    void manager.resize(aPodOf(name, { requests: { cpu: '2' } })).then(() => waitsMs.push(clock.monotonic() - beganAtMs));
    await clock.advance(10);
  }
  await clock.advance(1000);
  assert.deepEqual([waitsMs.length, writes <= 10, Math.max(...waitsMs) < 500], [100, true, true]);
  assert.deepEqual(waitsMs.slice(0, 2), [0, 0]);
  await manager.close();
});

test('the resources in force are recorded beside the allocation, for a Go kubelet', async (t) => {
  const { rootDir, open } = aFolder(t);
  const recorded = () => decodeAllocations(readFileSync(join(rootDir, 'actuated_pods_state'), 'utf8'));
  const first = await open();
  const [requests, limits] = [{ cpu: '1' }, { memory: '1Gi' }];
  first.setAllocatedResources(aPodOf('a', { requests }));
  first.setAllocatedResources(aPodOf('b', { requests }, { limits }));
  await first.close();
  assert.deepEqual(recorded().get(uid('a')), { containers: new Map([['app', { requests }]]) });
  assert.deepEqual(recorded().get(uid('b')), { containers: new Map([['app', { requests, limits }]]), podLevel: { limits } });
  rmSync(join(rootDir, 'actuated_pods_state'));
  const second = await open();
  second.removeOrphanedPods(new Set([uid('b')]));
  await second.close();
  assert.deepEqual([...recorded().keys()], ['b']);
});

test('a file of resources in force that cannot be read is written again, and no pod is admitted again', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const file = join(rootDir, 'actuated_pods_state');
  const first = await open();
  first.setAllocatedResources(aPodOf('a'));
  await first.close();
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, before.slice(0, 20));
  const second = await open();
  assert.equal(second.isAdmitted(uid('a')), true);
  assert.equal(lines[0]?.['path'], file);
  await second.close();
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('a write that a power loss interrupts does not affect the previous checkpoint', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const first = await open();
  first.setAllocatedResources(aPodOf('a'));
  await first.close();
  const file = join(rootDir, 'allocated_pods_state');
  writeFileSync(`${file}.new`, readFileSync(file, 'utf8').slice(0, 40));
  const second = await open();
  assert.deepEqual([second.isAdmitted(uid('a')), second.isAdmitted(uid('b')), lines], [true, false, []]);
  second.setAllocatedResources(aPodOf('c'));
  await second.close();
  assert.deepEqual([inFile(readFileSync(file, 'utf8')), existsSync(`${file}.new`)], [['a', 'c'], false]);
});

for (const [what, content] of [
  ['that is cut off', fromGo.slice(0, 40)],
  ['with a wrong checksum', fromGo.replace('1178570812', '1178570813')],
  ['with an amount that is none', checkpoint({ entries: { a: { ContainerResources: { app: { requests: { cpu: 'much' } } } } } })],
  ['of another shape', checkpoint({ entries: { a: [] } })],
  ['of no object', 'null'],
] as const) {
  test(`a checkpoint ${what} is logged with its path and ignored`, async (t) => {
    const { rootDir, open, lines } = aFolder(t);
    writeFileSync(join(rootDir, 'allocated_pods_state'), content);
    const manager = await open();
    assert.equal(manager.isAdmitted(uid('a')), false);
    assert.equal(lines[0]?.['path'], join(rootDir, 'allocated_pods_state'));
    manager.setAllocatedResources(aPodOf('b'));
    await manager.close();
    assert.equal((await open()).isAdmitted(uid('b')), true);
  });
}

test('a checkpoint beyond its bound is not read', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const path = join(rootDir, 'allocated_pods_state');
  writeFileSync(path, '');
  // Sparse, and longer than the longest string: reading it fails otherwise.
  truncateSync(path, 2 ** 30);
  const rssBefore = process.memoryUsage.rss();
  assert.equal((await open()).isAdmitted(uid('a')), false);
  assert.ok(process.memoryUsage.rss() - rssBefore < 100e6);
  assert.match(String(lines[0]?.['err']), /is larger than 67108864 bytes/);
});

function checkpoint(state: unknown): string {
  const data = JSON.stringify(state);
  return JSON.stringify({ data, checksum: fnv32a(Buffer.from(`(string)${data}`)) });
}

test('a broken checkpoint is set aside with an error, and running pods are admitted with what is in force', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const path = join(rootDir, 'allocated_pods_state');
  writeFileSync(path, '{"data":"{}","checksum":1}');
  const manager = await open();
  assert.deepEqual(
    lines.map(({ path: of, setAside, err }) => ({ of, setAside, err })),
    [{ of: path, setAside: `${path}.broken`, err: 'checkpoint is corrupted' }],
  );
  assert.equal(readFileSync(`${path}.broken`, 'utf8'), '{"data":"{}","checksum":1}');
  const pod = aPodOf('a');
  const resources = { requests: { cpu: '7m' } };
  const status = { ...aContainerStatus(resources), containerID: 'containerd://1', state: { running: {} } };
  const running = { ...pod, status: { phase: 'Running' as const, containerStatuses: [status] } };
  manager.setAllocatedResources(running);
  assert.deepEqual(manager.updatePodFromAllocation(running).spec.containers[0]?.resources?.requests, { cpu: '7m' });
  await manager.close();
});

const aContainerStatus = (resources: object) => ({ name: 'app', image: '', imageID: '', ready: true, restartCount: 0, resources });

test('the limits of volumes in memory are allocated, recorded and resized with the gate', async (t) => {
  const { rootDir } = aFolder(t);
  const podOf = (sizeLimit: string) =>
    aPod({
      metadata: { name: 'a', uid: uid('a') },
      spec: {
        containers: [{ name: 'app', image: 'x' }],
        volumes: [
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit } },
          { name: 'disk', emptyDir: { sizeLimit } },
        ],
      },
    });
  const open = (memoryBackedVolumes: boolean) =>
    AllocationManager.open({ rootDir, gates: { ...gates, memoryBackedVolumes }, clock: new FakeClock(), logger: silentLogger });
  const limitsOf = ({ spec }: Pod) => spec.volumes?.map(({ emptyDir }) => emptyDir?.sizeLimit);
  const first = await open(true);
  first.setAllocatedResources(podOf('1Mi'));
  assert.deepEqual(limitsOf(first.updatePodFromAllocation(podOf('2Mi'))), ['1Mi', '2Mi']);
  await first.resize(podOf('2Mi'));
  assert.deepEqual(
    [first.actuated(uid('a'))?.emptyDirLimits, limitsOf(first.updatePodFromAllocation(podOf('3Mi')))],
    [new Map([['memory', '1Mi']]), ['2Mi', '3Mi']],
  );
  await first.close();
  const second = await open(true);
  assert.deepEqual(second.actuated(uid('a'))?.emptyDirLimits, new Map([['memory', '1Mi']]));
  second.setActuated(uid('a'), { containers: new Map(), emptyDirLimits: new Map([['memory', '2048Ki']]) });
  assert.equal(second.actuated(uid('a')), undefined);
  await second.close();
  const { data } = JSON.parse(readFileSync(join(rootDir, 'actuated_pods_state'), 'utf8')) as { data: string };
  assert.deepEqual((JSON.parse(data) as { entries: object }).entries, {
    a: { ContainerResources: { app: {} }, EmptyDirVolumeLimits: { memory: '2Mi' }, PodLevelResources: null },
  });
  const without = await open(false);
  assert.deepEqual(limitsOf(without.updatePodFromAllocation(podOf('3Mi'))), ['3Mi', '3Mi']);
  await without.close();
});
