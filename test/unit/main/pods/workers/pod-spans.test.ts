import assert from 'node:assert/strict';
import { test } from 'node:test';
import { syncPodSpan, updateTypeOf } from '../../../../../src/main/pods/workers/pod-spans.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { aPod } from '../../../../support/pods/pods.ts';

test('the span of a sync has the attributes of the pod, with upstream’s names', () => {
  const span = syncPodSpan({ uid: 'u1' as PodUID, name: 'web', namespace: 'shop' }, 'create');
  assert.deepEqual(span, {
    scope: 'k8s.io/kubernetes/pkg/kubelet',
    name: 'syncPod',
    attributes: {
      'k8s.pod.uid': 'u1',
      'k8s.pod': 'shop/web',
      'k8s.pod.name': 'web',
      'k8s.namespace.name': 'shop',
      'k8s.pod.update_type': 'create',
    },
  });
});

test('the first sync creates a pod, and a sync of another version updates it', () => {
  const [first, second] = [aPod(), aPod()];
  assert.deepEqual([updateTypeOf(first, null), updateTypeOf(first, first), updateTypeOf(second, first)], ['create', 'sync', 'update']);
});
