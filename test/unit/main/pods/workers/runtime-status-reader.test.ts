/** The runtime status that a pod worker uses: the cached status, or that of an inspection. */
import assert from 'node:assert/strict';
import { RuntimeStatusCache } from '../../../../../src/main/pods/runtime-status-cache.ts';
import { RuntimeStatusReader } from '../../../../../src/main/pods/workers/runtime-status-reader.ts';
import type { CreatedObjects } from '../../../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const listed = aRuntimePodStatus({ containers: [aRuntimeContainer({ listedOnly: true })] });
const failure = { reason: 'ContainerStatusUnknown', message: 'no answer' };

const cases: { name: string; cached: RuntimePodStatus | null; invalidated?: boolean; inspections: (CreatedObjects | undefined)[] }[] = [
  { name: 'uses the cache when it is new enough', cached: aRuntimePodStatus(), inspections: [] },
  { name: 'uses the cache when the runtime has nothing of the pod', cached: null, inspections: [] },
  {
    name: 'inspects the pod when a task has changed the runtime',
    cached: aRuntimePodStatus(),
    invalidated: true,
    inspections: [undefined],
  },
  { name: 'inspects a pod that was only listed, without another list', cached: listed, inspections: [{ containers: [] }] },
  { name: 'lists the pod again when a task has changed the runtime', cached: listed, invalidated: true, inspections: [undefined] },
  { name: 'does not inspect a pod whose inspection failed', cached: { ...listed, failure }, inspections: [] },
];

async function check({ cached, invalidated, inspections: want }: (typeof cases)[number]): Promise<void> {
  const clock = new FakeClock();
  await clock.advance(100);
  const cache = new RuntimeStatusCache();
  cache.apply({ relistedAtMs: 50, statuses: cached ? [{ ...cached, observedAtMs: 50 }] : [], removed: [], events: [] });
  const inspections: (CreatedObjects | undefined)[] = [];
  const inspectPod = async (_: PodUID, created?: CreatedObjects) => {
    inspections.push(created);
    cache.apply({ statuses: [aRuntimePodStatus({ observedAtMs: 100 })], removed: [], events: [] });
  };
  const reader = new RuntimeStatusReader(listed.podUID, { cache, clock, inspectPod });
  if (invalidated) reader.invalidate();
  const status = await reader.getLatest();
  assert.deepEqual(inspections, want);
  assert.equal(status?.observedAtMs, inspections.length > 0 ? 100 : cached ? 50 : undefined);
}

table('the reader', (row) => {
  for (const one of cases) row(one.name, () => check(one));
});
