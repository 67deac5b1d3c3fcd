import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostStartHooks } from '../../../../src/main/probes/post-start-hooks.ts';
import type { ContainerID, PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../support/pods/pods.ts';

const id = 'container-0' as ContainerID;
const uid = 'uid-web' as PodUID;
const hooked = aContainer({ lifecycle: { postStart: { exec: { command: ['hello'] } } } });
const pod = aPod({ spec: { containers: [hooked] } });
const running = aRuntimePodStatus({ containers: [aRuntimeContainer({ id })] });

test('a hook that an earlier kubelet has not ended may run until a task has ended it', () => {
  const hooks = new PostStartHooks([id]);
  assert.equal(hooks.mayRun(uid, hooked, id), true);
  assert.deepEqual(hooks.onSyncStarted(pod, running), [id]);
  hooks.onSyncEnded(uid);
  // That sync did not get as far as the hook.
  assert.equal(hooks.mayRun(uid, hooked, id), true);
  assert.deepEqual(hooks.onSyncStarted(pod, running), [id]);
  hooks.setUnfinished(id, false);
  hooks.onSyncEnded(uid);
  assert.equal(hooks.mayRun(uid, hooked, id), false);
  assert.deepEqual(hooks.onSyncStarted(pod, running), []);
});

test('a hook that a lost task has begun may run, and the next sync runs it again', () => {
  const hooks = new PostStartHooks();
  assert.deepEqual(hooks.onSyncStarted(pod, null), []);
  hooks.setUnfinished(id, true);
  hooks.onSyncEnded(uid);
  assert.equal(hooks.mayRun(uid, hooked, id), true);
  assert.deepEqual(hooks.onSyncStarted(pod, running), [id]);
});

test('the hook of a container that has exited is over, and one without a hook has none', () => {
  const hooks = new PostStartHooks([id]);
  assert.equal(hooks.mayRun(uid, aContainer(), id), false);
  assert.deepEqual(hooks.onSyncStarted(pod, aRuntimePodStatus({ containers: [anExitedContainer(1, { id })] })), []);
  assert.deepEqual(hooks.onSyncStarted(pod, running), []);
});
