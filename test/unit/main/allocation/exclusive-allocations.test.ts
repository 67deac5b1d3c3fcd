import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExclusiveAllocations } from '../../../../src/main/allocation/exclusive-allocations.ts';
import type { AllocationProvider, AllocationRefusal } from '../../../../src/main/allocation/provider.ts';
import type { ContainerAllocation } from '../../../../src/shared/contracts/pod-sync/allocation.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';

const podOf = (uid: string) => aPod({ metadata: { uid, name: uid } });
const inRuntime = { status: null, runtimeHandler: undefined };

/** Providers that hold pods in memory, and record what is asked of them. */
function someProviders() {
  const calls: string[] = [];
  const held = { cpus: new Set<string>(), devices: new Set<string>() };
  const aProvider = (
    name: keyof typeof held,
    containers: Record<string, ContainerAllocation>,
    decide: (uid: string) => Promise<AllocationRefusal | null>,
  ): AllocationProvider => ({
    name,
    isNeededBy: ({ metadata }) => !metadata.uid.startsWith('plain'),
    allocate: async ({ metadata: { uid } }) => {
      calls.push(`${name} ${uid}`);
      const refusal = await decide(uid);
      if (!refusal) held[name].add(uid);
      return refusal;
    },
    restore: async () => ({ containers: new Map(Object.entries(containers)) }),
    release: async (uid) => void held[name].delete(uid),
    releaseOrphans: (isKnown) => held[name].forEach((uid) => isKnown(uid as never) || held[name].delete(uid)),
    close: async () => {},
  });
  return { calls, held, aProvider };
}
const granted = async () => null;

test('a pod that needs nothing of any provider gets nothing, and asks nobody', async () => {
  const { calls, aProvider } = someProviders();
  const exclusive = new ExclusiveAllocations([aProvider('cpus', {}, granted)], aLogger().logger);
  assert.equal(exclusive.isNeededBy(podOf('plain')), false);
  assert.equal(await exclusive.restore(podOf('plain'), inRuntime), undefined);
  assert.deepEqual(calls, []);
});

test('one pod at a time is given what it needs, in the order of the providers', async () => {
  const { calls, aProvider } = someProviders();
  const first = Promise.withResolvers<null>();
  const slow = (uid: string) => (uid === 'a' ? first.promise : granted());
  const exclusive = new ExclusiveAllocations([aProvider('cpus', {}, slow), aProvider('devices', {}, granted)], aLogger().logger);
  const both = Promise.all(['a', 'b'].map((uid) => exclusive.allocate(podOf(uid))));
  await settle();
  assert.deepEqual(calls, ['cpus a']);
  first.resolve(null);
  assert.deepEqual(await both, [null, null]);
  assert.deepEqual(calls, ['cpus a', 'devices a', 'cpus b', 'devices b']);
});

test('a pod that one provider refuses keeps nothing of the others, and the next pod goes on', async () => {
  const { held, aProvider } = someProviders();
  const refusal = { reason: 'UnexpectedAdmissionError', message: 'no device is free' };
  const exclusive = new ExclusiveAllocations(
    [aProvider('cpus', {}, granted), aProvider('devices', {}, async (uid) => (uid === 'a' ? refusal : null))],
    aLogger().logger,
  );
  assert.deepEqual(await exclusive.allocate(podOf('a')), refusal);
  assert.deepEqual([...held.cpus], []);
  assert.equal(await exclusive.allocate(podOf('b')), null);
  assert.deepEqual([[...held.cpus], [...held.devices]], [['b'], ['b']]);
});

test('a fault of a provider refuses the pod in upstream’s words, and costs no other pod', async () => {
  const { held, aProvider } = someProviders();
  const faulty = async (uid: string) => {
    if (uid === 'a') throw new Error('boom');
    return null;
  };
  const exclusive = new ExclusiveAllocations([aProvider('cpus', {}, granted), aProvider('devices', {}, faulty)], aLogger().logger);
  assert.deepEqual(await exclusive.allocate(podOf('a')), {
    reason: 'UnexpectedAdmissionError',
    message: 'Allocate failed due to boom, which is unexpected',
  });
  assert.deepEqual([...held.cpus], []);
  assert.equal(await exclusive.allocate(podOf('b')), null);
});

test('a wait for an allocation ends with the kubelet; the pod is neither admitted nor refused', async () => {
  const { held, aProvider } = someProviders();
  const waits = (provider: AllocationProvider): AllocationProvider => ({
    ...provider,
    allocate: async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { reason: 'OutOfCPUs', message: 'no CPU is free' };
    },
  });
  const exclusive = new ExclusiveAllocations([aProvider('devices', {}, granted), waits(aProvider('cpus', {}, granted))], aLogger().logger);
  let isDecided = false;
  for (const uid of ['a', 'b']) void exclusive.allocate(podOf(uid)).then(() => (isDecided = true));
  await settle();
  await exclusive.close();
  await settle();
  assert.equal(isDecided, false);
  assert.deepEqual([...held.devices], ['a']);
});

test('a container has what all providers gave it', async () => {
  const { aProvider } = someProviders();
  const exclusive = new ExclusiveAllocations(
    [
      aProvider('cpus', { app: { cpusetCpus: '2-3' } }, granted),
      aProvider('devices', { app: { cdiDeviceNames: ['x'] }, other: {} }, granted),
    ],
    aLogger().logger,
  );
  assert.deepEqual(await exclusive.restore(podOf('a'), inRuntime), {
    containers: new Map([
      ['app', { cpusetCpus: '2-3', cdiDeviceNames: ['x'] }],
      ['other', {}],
    ]),
  });
});

test('what pods hold is free when they have ended or do not exist any more', async () => {
  const { held, aProvider } = someProviders();
  const exclusive = new ExclusiveAllocations([aProvider('cpus', {}, granted)], aLogger().logger);
  for (const uid of ['a', 'b', 'c']) await exclusive.allocate(podOf(uid));
  await exclusive.release('a' as never);
  exclusive.releaseOrphans((uid) => uid === 'b');
  assert.deepEqual([...held.cpus], ['b']);
});
