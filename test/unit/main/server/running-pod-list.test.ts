import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runningPodList } from '../../../../src/main/server/running-pod-list.ts';
import { aLogger } from '../../../support/logger.ts';
import { podListOf } from '../../../support/server/pod-list.ts';
import type { RuntimePodStatus } from '../../../../src/shared/contracts/runtime-status.ts';

const pod = (name: string, sandbox: 'ready' | 'notReady', containers: Record<string, 'running' | 'exited'>) =>
  ({
    podUID: `uid-${name}`,
    name,
    namespace: 'default',
    sandboxes: [{ state: sandbox }],
    containers: Object.entries(containers).map(([container, state]) => ({ name: container, state, image: `${container}:1` })),
  }) as unknown as RuntimePodStatus;

test('the list has the running pods with their running containers', () => {
  const pods = [pod('a', 'ready', { app: 'running', done: 'exited' }), pod('b', 'notReady', { app: 'exited' })];
  const list = runningPodList({ all: () => pods, get: (uid) => pods.find(({ podUID }) => podUID === uid) ?? null });
  assert.deepEqual(podListOf(list, aLogger().logger), [
    {
      metadata: { name: 'a', namespace: 'default', uid: 'uid-a' },
      spec: { containers: [{ name: 'app', image: 'app:1', resources: {} }] },
      status: {},
    },
  ]);
});
