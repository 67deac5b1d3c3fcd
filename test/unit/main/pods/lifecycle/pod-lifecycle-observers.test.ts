import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodLifecycleObservers } from '../../../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { silentLogger } from '../../../../support/logger.ts';
import { aPod, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const uid = 'uid-web' as PodUID;
const fail = () => {
  throw new Error('a fault');
};

test('observers are notified in the order of their registration, of the stages that they know', () => {
  const observers = new PodLifecycleObservers(silentLogger);
  const calls: string[] = [];
  observers.register({ name: 'a', finished: () => calls.push('a finished'), terminated: () => calls.push('a terminated') });
  observers.register({ name: 'b', finished: () => calls.push('b finished'), admitted: ({ metadata }) => calls.push(`b ${metadata.name}`) });
  observers.register({ name: 'c', keepOnly: (known) => calls.push(`c keeps ${[...known].join()}`) });
  observers.admitted(aPod());
  observers.terminated(uid);
  observers.finished(uid);
  observers.forgotten(uid);
  observers.keepOnly(new Set([uid]));
  assert.deepEqual(calls, [`b ${aPod().metadata.name}`, 'a terminated', 'a finished', 'b finished', 'c keeps uid-web']);
});

test('a fault of one observer does not keep the others from the end of a pod', () => {
  const observers = new PodLifecycleObservers(silentLogger);
  const calls: string[] = [];
  observers.register({ name: 'a', terminated: fail, finished: fail, forgotten: fail, keepOnly: fail });
  observers.register({
    name: 'b',
    terminated: () => calls.push('terminated'),
    finished: () => calls.push('finished'),
    forgotten: () => calls.push('forgotten'),
    keepOnly: () => calls.push('keepOnly'),
  });
  observers.terminated(uid);
  observers.finished(uid);
  observers.forgotten(uid);
  observers.keepOnly(new Set());
  assert.deepEqual(calls, ['terminated', 'finished', 'forgotten', 'keepOnly']);
});

test('a pod is not passed on when an observer of its admission throws', () => {
  const observers = new PodLifecycleObservers(silentLogger);
  observers.register({ name: 'a', admitted: fail });
  assert.throws(() => observers.admitted(aPod()), /a fault/);
});

test('a fault of a measurement does not keep a pod from its termination', () => {
  const observers = new PodLifecycleObservers(silentLogger);
  const calls: string[] = [];
  observers.register({ name: 'a', foundInRuntime: fail, terminating: fail, removed: fail, updateHandled: fail });
  observers.register({
    name: 'b',
    foundInRuntime: ({ podUID }) => calls.push(`${podUID} in the runtime`),
    terminating: (one, seconds) => calls.push(`${one} in ${seconds} s`),
    removed: (uids) => calls.push(`removed ${uids.join()}`),
    updateHandled: () => calls.push('update'),
  });
  observers.foundInRuntime(aRuntimePodStatus({ podUID: uid }));
  observers.terminating(uid, 30);
  observers.removed([uid]);
  observers.updateHandled();
  assert.deepEqual(calls, ['uid-web in the runtime', 'uid-web in 30 s', 'removed uid-web', 'update']);
});
