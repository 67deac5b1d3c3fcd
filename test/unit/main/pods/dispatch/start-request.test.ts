import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRequest, startsBefore } from '../../../../../src/main/pods/dispatch/start-request.ts';
import type { PodTask } from '../../../../../src/main/threads/task-channel.ts';
import type { ProbeVerdict } from '../../../../../src/shared/contracts/pod-sync/task.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';

const sync = (pod: Pod, containers: RuntimeContainerStatus[] | null): PodTask =>
  ({ kind: 'sync', podUID: pod.metadata.uid, pod, status: containers && aRuntimePodStatus({ containers }) }) as PodTask;
const seen = '2026-01-01T00:00:05Z';
const fromApi = (fields: Partial<Pod['spec']> = {}) =>
  aPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.seen': seen } }, spec: fields });

test('a static pod has the highest priority, whatever its spec says', () => {
  assert.equal(startRequest('sandbox', sync(aPod({ spec: { priority: 5 } }), null)).priority, 2_000_001_000);
  assert.equal(startRequest('sandbox', sync(fromApi({ priority: 5 }), null)).priority, 5);
});

test('the age of a pod begins when the kubelet first saw the pod', () => {
  assert.equal(startRequest('sandbox', sync(fromApi(), null)).podSeenAtMs, Date.parse(seen));
  assert.equal(startRequest('sandbox', sync(aPod(), null)).podSeenAtMs, 0);
});

test('an exited container makes the start a restart, an exited init container does not', () => {
  assert.equal(startRequest('container', sync(aPod(), [])).restart, false);
  assert.equal(startRequest('container', sync(aPod(), [anExitedContainer(0, { name: 'init' })])).restart, false);
  assert.equal(startRequest('container', sync(aPod(), [anExitedContainer(1)])).restart, true);
});

test('a failed liveness or startup probe makes the start a restart', () => {
  const containers = [aRuntimeContainer()];
  const id = containers[0]!.id;
  const isRestart = (liveness: ProbeVerdict, startup: ProbeVerdict) =>
    startRequest('container', {
      ...sync(aPod(), containers),
      probes: { liveness: new Map([[id, liveness]]), startup: new Map([[id, startup]]) },
    } as PodTask).restart;
  assert.deepEqual(
    [isRestart('success', 'success'), isRestart('failure', 'success'), isRestart('success', 'failure')],
    [false, true, true],
  );
});

test('static pods and pods with a system-critical priority are critical', () => {
  const isCritical = (pod: Pod) => startRequest('sandbox', sync(pod, null)).critical;
  assert.equal(isCritical(aPod()), true);
  assert.equal(isCritical(fromApi({ priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' })), true);
  assert.equal(isCritical(fromApi({ priority: 1_999_999_999 })), false);
  assert.equal(isCritical(fromApi()), false);
});

test('a pod with large fields starts after the small ones of its priority, also when it starts again', () => {
  const large = (pod: Pod) => startRequest('sandbox', sync(pod, null)).large;
  const command = ['x'.repeat(300_000)];
  assert.deepEqual([large(aPod()), large(aPod({ spec: { containers: [aContainer({ command })] } }))], [false, true]);
  const request = { ...startRequest('sandbox', sync(fromApi(), null)), podSeenAtMs: 1 };
  const order = [
    { ...request, restart: true },
    { ...request, priority: 1, large: true },
    { ...request, kind: 'container' as const },
    { ...request, podSeenAtMs: 2 },
    { ...request, large: true, kind: 'container' as const, restart: true },
    { ...request, large: true },
  ];
  for (const [index, earlier] of order.entries())
    for (const later of order.slice(index + 1))
      assert.deepEqual([startsBefore(earlier, later), startsBefore(later, earlier)], [true, false]);
});
