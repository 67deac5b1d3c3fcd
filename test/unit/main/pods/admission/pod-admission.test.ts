import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { sysctlAdmission, type AdmitHandler } from '../../../../../src/main/pods/admission/index.ts';
import type { Pod, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { preemptions } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { FakeNode } from '../../../../support/pods/fake-node.ts';
import type { FakeAdmission } from '../../../../support/pods/fake-parts.ts';
import { aPod } from '../../../../support/pods/pods.ts';

/** What upstream's own code gives a preempted pod: the last row of the vectors (scripts/upstream/values/admission). */
function upstreamPreempted(): { readonly event: string; readonly status: PodStatus } {
  const rows = readFileSync(new URL('./admission-vectors.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  return (JSON.parse(rows.at(-1)!) as { readonly row: ReturnType<typeof upstreamPreempted> }).row;
}

const withSysctl = (name: string) => aPod({ spec: { securityContext: { sysctls: [{ name, value: '1' }] } } });

function aNode(allowed: readonly string[]) {
  return aNodeWith([sysctlAdmission(allowed, '6.1.0')]);
}

async function aNodeWith(
  admitHandlers: readonly AdmitHandler[],
  refreshNode: (() => Promise<unknown>) | null = null,
  exclusiveAllocations?: FakeAdmission['exclusiveAllocations'],
) {
  const node = await FakeNode.start({ admitHandlers, refreshNode, ...(exclusiveAllocations && { exclusiveAllocations }) });
  const admitted = () => [...node.podManager.uids()].filter((uid) => node.allocationManager.isAdmitted(uid));
  return { node, updates: node.handlers, admitted };
}

test('a pod with a forbidden sysctl is Failed with the reason and never started', async () => {
  const { node, updates } = await aNode([]);
  void updates.add([withSysctl('net.core.somaxconn')]);
  await settle();
  assert.deepEqual(node.startedTasks, []);
  const { startTime, ...status } = node.statuses.get('uid-web' as PodUID)!;
  assert.ok(startTime);
  assert.deepEqual(status, {
    phase: 'Failed',
    reason: 'SysctlForbidden',
    message: 'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
    qosClass: 'BestEffort',
  });
  assert.deepEqual(
    node.events.map(({ type, reason, message }) => ({ type, reason, message })),
    [{ type: 'Warning', reason: 'SysctlForbidden', message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted' }],
  );
});

test('a pod with a sysctl that the configuration allows is started', async () => {
  const { node, updates } = await aNode(['net.core.*']);
  void updates.add([withSysctl('net.core.somaxconn')]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync uid-web']);
});

test('an admitted pod is not admitted again, whatever has changed on the node', async () => {
  const { node, updates } = await aNodeWith([() => ({ rejection: { reason: 'NodeAffinity', message: 'the labels are others now' } })]);
  node.allocationManager.setAllocatedResources(aPod());
  void updates.add([aPod()]);
  await settle();
  assert.deepEqual(node.startedTasks, ['sync uid-web']);
});

test('before a pod is rejected for labels, the Node is read once more', async () => {
  let reads = 0;
  const rejection = { reason: 'NodeAffinity', message: 'no', mayBeStaleNode: true };
  const { node, updates } = await aNodeWith([() => ({ rejection })], async () => (reads += 1));
  void updates.add([aPod()]);
  // Housekeeping finds the pod without a worker meanwhile.
  updates.start(aPod());
  await settle();
  assert.deepEqual([reads, node.statuses.get('uid-web' as PodUID)?.reason], [1, 'NodeAffinity']);
  const labelled = await aNodeWith([() => (reads < 2 ? { rejection } : null)], async () => (reads += 1));
  void updates.add([]);
  void labelled.updates.add([aPod()]);
  await settle();
  assert.deepEqual(labelled.node.startedTasks, ['sync uid-web']);
});

test('a critical pod starts after its preempted pods have terminated, which are Failed with the reason', async () => {
  const victim = aPod({ metadata: { name: 'victim', uid: 'uid-victim' } });
  const isAlone = (active: readonly Pod[]) => active.every((pod) => pod.metadata.name !== 'victim');
  const admit: AdmitHandler = (pod, active) =>
    pod.metadata.name === 'victim' || isAlone(active) ? null : { preemption: { victims: [victim], resources: ['cpu'] } };
  const { node, updates } = await aNodeWith([admit]);
  void updates.add([victim]);
  await settle();
  await node.completeTask(node.task('sync'));
  void updates.add([aPod()]);
  await settle();
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(node.startedTasks.slice(0, 2), ['sync uid-victim', 'terminating uid-victim']);
  assert.ok(node.startedTasks.includes('sync uid-web'), node.startedTasks.join());
  const { event, status } = upstreamPreempted();
  const events = node.events.filter(({ reason }) => reason === 'Preempting');
  assert.deepEqual(
    events.map(({ object, type, reason, message }) => [object.name, `${type} ${reason} ${message}`]),
    [['victim', event]],
  );
  const { phase, reason, message, conditions = [] } = node.statuses.get('uid-victim' as PodUID)!;
  assert.deepEqual({ phase, reason, message }, { phase: status.phase, reason: status.reason, message: status.message });
  const disruption = conditions.find(({ type }) => type === 'DisruptionTarget');
  const { lastProbeTime: _probe, lastTransitionTime: _transition, ...want } = status.conditions![0]!;
  assert.deepEqual({ ...disruption, lastTransitionTime: undefined }, { ...want, lastTransitionTime: undefined });
});

test('a preempted pod is counted when it has terminated, and one that does not terminate in time delays no critical pod', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const count = () => /^kubelet_preemptions{.*} (\d+)$/m.exec(renderMetrics([segment], [preemptions]))?.[1];
  const aVictim = (uid: string) => aPod({ metadata: { name: uid, uid }, spec: { terminationGracePeriodSeconds: 1 } });
  const victims = [aVictim('hangs'), aVictim('ends')];
  const admit: AdmitHandler = (pod, active) => {
    const inTheWay = active.filter((other) => victims.includes(other));
    return victims.some((victim) => victim === pod) || inTheWay.length === 0
      ? null
      : { preemption: { victims: inTheWay, resources: ['cpu'] } };
  };
  const { node, updates } = await aNodeWith([admit]);
  void updates.add(victims);
  await settle();
  for (const { metadata } of victims) await node.completeTask(node.task('sync', metadata.uid));
  void updates.add([aPod()]);
  await settle();
  await node.completeTask(node.task('terminating', 'ends'));
  await node.clock.advance(9999);
  assert.deepEqual([count(), node.startedTasks.includes('sync uid-web')], ['1', false]);
  await node.clock.advance(1);
  assert.deepEqual(
    [node.startedTasks.includes('sync uid-web'), node.events.map(({ reason }) => reason)],
    [true, ['Preempting', 'Preempting', 'ExceededGracePeriod']],
  );
  await node.completeTask(node.task('terminating', 'hangs'));
  assert.equal(count(), '1');
});

test('when the freed resources no longer suffice, more pods are preempted, and other rejections still apply', async () => {
  const admissions: string[][] = [];
  const admit: AdmitHandler = (pod, active) => {
    const victims = active.filter(({ metadata }) => metadata.uid === (admissions.length === 0 ? 'first' : 'second'));
    if (pod.metadata.uid !== 'uid-web' || victims.length === 0) return null;
    admissions.push(active.map(({ metadata }) => metadata.uid));
    return { preemption: { victims, resources: ['cpu'] } };
  };
  const rejection = { reason: 'AppArmor', message: 'no' };
  const { node, updates } = await aNodeWith([admit, (pod) => (pod.metadata.uid === 'uid-web' ? { rejection } : null)]);
  const graceless = { terminationGracePeriodSeconds: 0 };
  void updates.add(['first', 'second'].map((uid) => aPod({ metadata: { name: uid, uid }, spec: graceless })));
  await settle();
  for (const uid of ['first', 'second']) await node.completeTask(node.task('sync', uid));
  void updates.add([aPod()]);
  await node.clock.advance(20_000);
  assert.deepEqual(admissions, [['first', 'second'], ['second']]);
  assert.equal(node.statuses.get('uid-web' as PodUID)?.reason, 'AppArmor');
});

test('a critical pod preempts admitted pods, not pods whose admission is pending', async () => {
  const read = Promise.withResolvers<void>();
  const admissions: string[][] = [];
  const admit: AdmitHandler = (pod, active) => {
    const others = active.map(({ metadata }) => metadata.uid);
    admissions.push([pod.metadata.uid, ...others]);
    if (pod.metadata.uid === 'undecided') return { rejection: { reason: 'NodeAffinity', message: 'no', mayBeStaleNode: true } };
    return active[0] ? { preemption: { victims: [active[0]], resources: ['cpu'] } } : null;
  };
  const { node, updates } = await aNodeWith([admit], () => read.promise);
  void updates.add([aPod({ metadata: { uid: 'undecided', name: 'undecided' } })]);
  void updates.add([aPod({ metadata: { uid: 'critical', name: 'critical' } })]);
  await settle();
  assert.deepEqual([admissions, node.startedTasks], [[['undecided'], ['critical']], ['sync critical']]);
  read.resolve();
  await settle();
  assert.equal(node.phase('undecided'), 'Failed');
});

describe('a pod that holds something alone', () => {
  const alone = (uid: string) => aPod({ metadata: { uid, name: uid }, spec: { hostUsers: false } });
  const aProvidedNode = async (admit: AdmitHandler = () => null) => {
    const allocations = new Map<string, (refusal: { reason: string; message: string } | null) => void>();
    const exclusiveAllocations = {
      isNeededBy: ({ spec }: Pod) => spec.hostUsers === false,
      allocate: ({ metadata }: Pod) => {
        const { promise, resolve } = Promise.withResolvers<{ reason: string; message: string } | null>();
        allocations.set(metadata.uid, resolve);
        return promise;
      },
      restore: async () => undefined,
    };
    return { ...(await aNodeWith([admit], null, exclusiveAllocations)), allocations };
  };

  test('starts when that is durable, and counts meanwhile; others start at once', async () => {
    const seen = new Map<string, string[]>();
    const admit: AdmitHandler = (pod, active) => (
      seen.set(
        pod.metadata.uid,
        active.map(({ metadata }) => metadata.uid),
      ),
      null
    );
    const { node, updates, allocations, admitted } = await aProvidedNode(admit);
    void updates.add([alone('alone')]);
    void updates.add([aPod({ metadata: { uid: 'other', name: 'other' } })]);
    await settle();
    assert.deepEqual([node.startedTasks, admitted(), seen.get('other')], [['sync other'], ['other'], ['alone']]);
    allocations.get('alone')!(null);
    await settle();
    assert.deepEqual(node.startedTasks, ['sync other', 'sync alone']);
    assert.deepEqual(admitted(), ['alone', 'other']);
  });

  test('is Failed with the reason for which it gets nothing, and never starts', async () => {
    const { node, updates, allocations, admitted } = await aProvidedNode();
    void updates.add([alone('alone')]);
    await settle();
    allocations.get('alone')!({ reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality' });
    await settle();
    assert.deepEqual([node.phase('alone'), node.startedTasks, admitted()], ['Failed', [], []]);
    assert.deepEqual(
      node.events.map(({ reason, message }) => [reason, message]),
      [['TopologyAffinityError', 'Resources cannot be allocated with Topology locality']],
    );
  });

  test('that is deleted meanwhile ends without a start', async () => {
    const { node, updates, allocations } = await aProvidedNode();
    void updates.add([alone('alone')]);
    await settle();
    updates.remove([alone('alone')]);
    allocations.get('alone')!(null);
    await settle();
    assert.deepEqual(node.startedTasks, []);
  });
});

test('resources freed for a critical pod are not given to another pod', async () => {
  const seen = new Map<string, string[]>();
  const admit: AdmitHandler = (pod, active) => {
    const uids = active.map(({ metadata }) => metadata.uid);
    seen.set(pod.metadata.uid, uids);
    const victim = active.find(({ metadata }) => metadata.uid === 'victim');
    return pod.metadata.uid.startsWith('critical') && victim ? { preemption: { victims: [victim], resources: ['cpu'] } } : null;
  };
  const { node, updates } = await aNodeWith([admit]);
  const priority = 2_000_000_000;
  void updates.add([aPod({ metadata: { uid: 'victim', name: 'victim' } })]);
  await settle();
  void updates.add([aPod({ metadata: { uid: 'critical', name: 'critical' }, spec: { priority } })]);
  void updates.add([aPod({ metadata: { uid: 'other', name: 'other', annotations: { 'kubernetes.io/config.source': 'api' } } })]);
  void updates.add([
    aPod({
      metadata: { uid: 'critical-2', name: 'critical-2', annotations: { 'kubernetes.io/config.source': 'api' } },
      spec: { priority },
    }),
  ]);
  await settle();
  assert.deepEqual(seen.get('other'), ['victim', 'critical']);
  assert.deepEqual(seen.get('critical-2'), ['victim', 'other']);
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks.filter((task) => task.startsWith('sync')).toSorted(), [
    'sync critical',
    'sync critical-2',
    'sync other',
    'sync victim',
  ]);
});
