/** Turns a decoded pod into a static pod of this node (upstream pkg/kubelet/config/common.go applyDefaults). */
import { configHashAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Draft, Pod } from '../../../shared/kubernetes/api.ts';
import type { ManifestGates } from './manifest-gates.ts';
import { staticPodUID, type DumpBudget, type ManifestOrigin } from './static-pod-uid/static-pod-uid.ts';

/**
 * Modifies the pod, which no other code references yet. The pod has its API defaults, because they affect the UID. `document` is the pod
 * in the manifest. Throws when the budget is exhausted.
 */
export function makeStatic(pod: Draft<Pod>, document: unknown, from: ManifestOrigin, gates: ManifestGates, budget: DumpBudget): void {
  const { metadata, spec } = pod;
  metadata.uid ||= staticPodUID(document, pod, from, gates, budget);
  metadata.name = `${metadata.name}-${from.nodeName.toLowerCase()}`;
  metadata.namespace ||= 'default';
  metadata.annotations = { ...metadata.annotations, [configHashAnnotation]: metadata.uid };
  spec.nodeName = from.nodeName;
  // A pod from a file tolerates all problems of the node, because it may be what repairs them.
  if (from.source === 'file') spec.tolerations = withToleration(spec.tolerations ?? []);
  pod.status = { phase: 'Pending' };
}

type Toleration = NonNullable<Draft<Pod>['spec']['tolerations']>[number];

/** Adds a permanent toleration of every NoExecute taint, which replaces an existing toleration of the same taints. */
function withToleration(tolerations: Toleration[]): Toleration[] {
  const tolerateAll: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const isSame = ({ key, operator, value, effect }: Toleration) => !key && operator === 'Exists' && !value && effect === 'NoExecute';
  return tolerations.some(isSame) ? tolerations.map((each) => (isSame(each) ? tolerateAll : each)) : [...tolerations, tolerateAll];
}
