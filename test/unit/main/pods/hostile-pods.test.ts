/** Runs main's handlers on random well-typed pods: none of the handlers throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults, legacyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { admitHandlers, missingFeaturesForUpdate } from '../../../../src/main/pods/admission/index.ts';
import { mergeChanges } from '../../../../src/main/sources/merge-pods.ts';
import { podListOf } from '../../../support/server/pod-list.ts';
import { sourcePodList } from '../../../../src/main/server/source-pod-list.ts';
import { statusPatch, toApiStatus } from '../../../../src/main/pods/status/status-patch.ts';
import { referencedObjects, tokenRefs } from '../../../../src/main/objects/referenced-objects.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { acceptedPods, fuzzSeeds } from '../../../support/fuzz/hostile-pods.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../../support/pods/pods.ts';

const podsOfASeed = 3000;
const batchSize = 100;
const { gates: featureGates } = computeFeatureGates({});
const config = applyDefaults(legacyDefaults(), featureGates);
const allocatable = { cpu: '4', memory: '8Gi', pods: '1000', 'ephemeral-storage': '10Gi', 'hugepages-2Mi': '0' };
const nodeAdmitHandlers = () =>
  admitHandlers({
    config,
    featureGates,
    node: () => ({ metadata: { name: 'node-1', labels: { 'kubernetes.io/os': 'linux' } }, spec: { taints: [] }, status: { allocatable } }),
    declaredFeatures: [],
    pressureConditions: () => new Set(),
    isShuttingDown: () => false,
  });

/** A runtime status of the pod; the containers vary with the index. */
function runtimeStatusOf(pod: Pod, index: number) {
  const container = index % 3 === 0 ? anExitedContainer(1) : aRuntimeContainer();
  const containers = pod.spec.containers.map(({ name }) => ({ ...container, name }));
  return aRuntimePodStatus({ podUID: podUID(pod), containers: index % 4 === 0 ? [] : containers });
}

for (const seed of fuzzSeeds()) {
  test(`no accepted pod throws in main: FUZZ_SEED=${seed}`, async () => {
    const pods = acceptedPods(seed, podsOfASeed);
    assert.ok(pods.length > podsOfASeed / 3, `${pods.length} of ${podsOfASeed} pods were accepted`);
    for (let at = 0; at < pods.length; at += batchSize) await runPods(pods.slice(at, at + batchSize));
  });
}

/** Takes the pods through their whole lifecycle on one node. */
async function runPods(pods: readonly Pod[]): Promise<void> {
  const node = await FakeNode.start({
    admitHandlers: nodeAdmitHandlers(),
    missingFeaturesForUpdate: (before, after) => missingFeaturesForUpdate(before, after, []),
  });
  const { handlers, runHousekeeping } = node;
  const changes = mergeChanges(new Map(), 'api', new Map(pods.map((pod) => [podUID(pod), pod])), '2026-11-23T00:00:00Z');
  for (const update of changes.updates) await handlers.handle(update);
  for (const [index, pod] of pods.entries()) {
    node.cache.apply({ relistedAtMs: 1, statuses: [runtimeStatusOf(pod, index)], removed: [], events: [] });
    node.workers.refreshStatuses([podUID(pod)]);
    referencedObjects(pod);
    tokenRefs(pod);
    const status = node.statuses.get(podUID(pod)) ?? {};
    const next = toApiStatus(pod.status ?? {}, { status, couldHaveRunningContainers: index % 2 === 0 });
    statusPatch(pod, next);
    structuredClone(pod);
  }
  podListOf(sourcePodList(node.podManager, node.statuses), node.logs.logger);
  await runHousekeeping();
  node.clock.advance(60_000);
  await settle();
  const deleted = pods.map((pod): Pod => ({
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp: '2026-11-23T00:00:00Z' } as Pod['metadata'],
  }));
  handlers.update(deleted);
  await runHousekeeping();
  handlers.remove(deleted);
  await runHousekeeping();
  const faults = [...changes.faults.map(({ err }) => ({ err })), ...node.logs.lines.filter(({ msg }) => msg === 'Contained a fault')];
  const first = faults[0];
  const pod = first && pods.find((one) => podUID(one) === (first as { podUID?: string }).podUID);
  assert.equal(faults.length, 0, `${JSON.stringify(first, null, 1)}\n${JSON.stringify(pod)}`);
}
