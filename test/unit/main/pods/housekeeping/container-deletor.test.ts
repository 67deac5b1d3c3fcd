import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerDeletor } from '../../../../../src/main/pods/housekeeping/container-deletor.ts';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { anExitedContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const id = (name: string) => name as ContainerID;
const uid = 'uid-web' as PodUID;
const status = aRuntimePodStatus({
  containers: [
    anExitedContainer(1, { id: id('third'), createdAtMs: 3 }),
    anExitedContainer(1, { id: id('second'), createdAtMs: 2 }),
    anExitedContainer(1, { id: id('first'), createdAtMs: 1 }),
  ],
});

function someContainers({ isGone = false, keep = 1, failure = null as Error | null } = {}) {
  const removed: ContainerID[] = [];
  const { logger, lines } = aLogger();
  const containers = new ContainerDeletor({
    cache: { get: (requested) => (requested === uid ? status : null) },
    shouldContentBeRemoved: () => isGone,
    removeContainers: async (ids) => {
      if (failure) throw failure;
      removed.push(...ids);
    },
    maxDeadPerContainer: keep,
    logger,
  });
  return { containers, removed, lines };
}

test('when a container dies, that instance and the previous one are kept even with a limit of 0', () => {
  const { containers, removed } = someContainers({ keep: 0 });
  containers.deleteContainersInPod(uid, id('third'));
  assert.deepEqual(removed, ['first']);
});

test('no container of a deleted pod is kept', () => {
  const { containers, removed } = someContainers({ isGone: true });
  containers.deleteContainersInPod(uid, id('third'));
  assert.deepEqual(removed, ['third', 'second', 'first']);
});

test('nothing is removed for a pod that the runtime does not have', () => {
  const { containers, removed } = someContainers();
  containers.deleteContainersInPod('other' as PodUID, id('third'));
  assert.deepEqual(removed, []);
});

test('a failed removal is logged and left to garbage collection', async () => {
  const { containers, lines } = someContainers({ failure: new Error('busy') });
  containers.deleteContainersInPod(uid, id('third'));
  await settle();
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['Could not remove dead containers'],
  );
});
