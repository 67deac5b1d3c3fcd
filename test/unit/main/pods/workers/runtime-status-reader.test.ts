/** What a pod's worker goes by: what was last seen, as long as that is new enough and more than lists say. */
import assert from 'node:assert/strict';
import { RuntimeStatusCache } from '../../../../../src/main/pods/runtime-status-cache.ts';
import { RuntimeStatusReader } from '../../../../../src/main/pods/workers/runtime-status-reader.ts';
import type { CreatedObjects } from '../../../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const listed = aRuntimePodStatus({ containers: [aRuntimeContainer({ listedOnly: true })] });
const failure = { reason: 'ContainerStatusUnknown', message: 'no answer' };

const cases: { name: string; seen: RuntimePodStatus | null; expired?: boolean; looks: (CreatedObjects | undefined)[] }[] = [
  { name: 'what was seen is news enough', seen: aRuntimePodStatus(), looks: [] },
  { name: 'the runtime has nothing of the pod', seen: null, looks: [] },
  { name: 'the runtime was changed since', seen: aRuntimePodStatus(), expired: true, looks: [undefined] },
  { name: 'what only lists say is looked at, and not listed again', seen: listed, looks: [{ containers: [] }] },
  { name: 'what only lists say after a change is listed again', seen: listed, expired: true, looks: [undefined] },
  { name: 'what the runtime does not answer about is not asked for again', seen: { ...listed, failure }, looks: [] },
];

async function check({ seen, expired, looks: want }: (typeof cases)[number]): Promise<void> {
  const clock = new FakeClock();
  await clock.advance(100);
  const cache = new RuntimeStatusCache();
  cache.apply({ relistedAtMs: 50, statuses: seen ? [{ ...seen, observedAtMs: 50 }] : [], gone: [], events: [] });
  const looks: (CreatedObjects | undefined)[] = [];
  const look = async (_: PodUID, made?: CreatedObjects) => {
    looks.push(made);
    return aRuntimePodStatus({ observedAtMs: 100 });
  };
  const view = new RuntimeStatusReader(listed.podUID, { cache, clock, inspectPod: look });
  if (expired) view.invalidate();
  const status = await view.getLatest();
  assert.deepEqual(looks, want);
  assert.equal(status?.observedAtMs, looks.length > 0 ? 100 : seen ? 50 : undefined);
}

table('what a pod is taken for', (row) => {
  for (const one of cases) row(one.name, () => check(one));
});
