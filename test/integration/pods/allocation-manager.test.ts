import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AllocationManager } from '../../../src/main/pods/admission/index.ts';
import { decodeAllocations } from '../../../src/main/pods/admission/allocation-checkpoint.ts';
import type { Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { fnv32a } from '../../../src/shared/kubernetes/container-hash.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger, silentLogger } from '../../support/logger.ts';
import { aPod } from '../../support/pods.ts';

function aFolder(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), 'journal-'));
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
const inFile = (content: string) => [...decodeAllocations(content).keys()];

test('a pod that was admitted is known after a restart, one that was forgotten is not', async (t) => {
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

test('pods that the Go kubelet had admitted count, with what it gave them', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  writeFileSync(join(rootDir, 'allocated_pods_state'), fromGo);
  const journal = await open();
  assert.deepEqual([journal.isAdmitted(uid('pod1')), lines], [true, []]);
  const pod = aPod({ metadata: { uid: 'pod1' }, spec: { containers: [{ name: 'container1', resources: { requests: { cpu: '1' } } }] } });
  assert.deepEqual(journal.updatePodFromAllocation(pod).spec.containers[0]?.resources, { requests: { cpu: '1Ki', memory: '1Ki' } });
});

test('what a pod was admitted with outlives a restart, whatever its spec asks for then', async (t) => {
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

test('a pod that is admitted again keeps what it has, but for one that was gone meanwhile', async (t) => {
  const { open } = aFolder(t);
  const journal = await open();
  const cpuOf = (pod: Pod) => journal.updatePodFromAllocation(pod).spec.containers[0]?.resources?.requests?.['cpu'];
  const [small, large] = ['1', '2'].map((cpu) => aPodOf('a', { requests: { cpu } })) as [Pod, Pod];
  journal.setAllocatedResources(small);
  journal.setAllocatedResources(large);
  assert.equal(cpuOf(large), '1');
  journal.removePod(uid('a'));
  assert.deepEqual([journal.isAdmitted(uid('a')), cpuOf(large)], [true, '2']);
  journal.setAllocatedResources(large);
  assert.equal(cpuOf(small), '2');
  await journal.close();
});

test('pods that are admitted while the disk is slow wait for nothing, and are written together', async (t) => {
  const { rootDir } = aFolder(t);
  const logger = silentLogger;
  const clock = new FakeClock();
  const written: string[] = [];
  let isWritten = Promise.withResolvers<void>();
  const write = async (_path: string, _temporary: string, content: string) => {
    written.push(content);
    await isWritten.promise;
  };
  const journal = await AllocationManager.open({ rootDir, gates, clock, logger, write });
  for (const name of ['a', 'b', 'c', 'd']) {
    journal.setAllocatedResources(aPodOf(name));
    await clock.advance(20);
  }
  assert.deepEqual(written.map(inFile), [['a']]);
  isWritten.resolve();
  isWritten = Promise.withResolvers();
  await settle();
  assert.deepEqual(written.slice(1).map(inFile), [['a', 'b', 'c', 'd']]);
  journal.setAllocatedResources(aPodOf('e'));
  const closed = journal.close();
  isWritten.resolve();
  await closed;
  assert.deepEqual(written.slice(2).map(inFile), [['a', 'b', 'c', 'd', 'e']]);
});

test('a write that a loss of power cut off takes nothing from what was written before', async (t) => {
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
  test(`a file ${what} is said by name, and counts as none`, async (t) => {
    const { rootDir, open, lines } = aFolder(t);
    writeFileSync(join(rootDir, 'allocated_pods_state'), content);
    const journal = await open();
    assert.equal(journal.isAdmitted(uid('a')), false);
    assert.equal(lines[0]?.['path'], join(rootDir, 'allocated_pods_state'));
    journal.setAllocatedResources(aPodOf('b'));
    await journal.close();
    assert.equal((await open()).isAdmitted(uid('b')), true);
  });
}

function checkpoint(state: unknown): string {
  const data = JSON.stringify(state);
  return JSON.stringify({ data, checksum: fnv32a(Buffer.from(`(string)${data}`)) });
}
