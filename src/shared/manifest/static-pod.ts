/** What makes a decoded pod a static pod of this node (upstream pkg/kubelet/config/common.go applyDefaults). */
import { configHashAnnotation } from '../kubernetes/annotations.ts';
import type { Draft, Pod } from '../kubernetes/api.ts';
import { staticPodUID, type DumpBudget, type ManifestOrigin } from './static-pod-uid/static-pod-uid.ts';

/**
 * Changes the pod in place: nobody else holds it yet. Its API defaults are applied already, so that they are part of its UID. `document` is
 * the pod as it stands in the manifest. Throws when the budget is spent.
 */
export function makeStatic(pod: Draft<Pod>, document: unknown, from: ManifestOrigin, budget: DumpBudget): void {
  const { metadata, spec } = pod;
  metadata.uid ||= staticPodUID(document, pod, from, budget);
  metadata.name = `${metadata.name}-${from.nodeName.toLowerCase()}`;
  metadata.namespace ||= 'default';
  metadata.annotations = { ...metadata.annotations, [configHashAnnotation]: metadata.uid };
  spec.nodeName = from.nodeName;
  // A file's pod stays through the node's problems: it may be what repairs them.
  if (from.source === 'file') spec.tolerations = withToleration(spec.tolerations ?? []);
  pod.status = { phase: 'Pending' };
}

type Toleration = NonNullable<Draft<Pod>['spec']['tolerations']>[number];

/** Of every NoExecute taint, for good: in the place of one for the same taints. */
function withToleration(tolerations: Toleration[]): Toleration[] {
  const forever: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const isSame = ({ key, operator, value, effect }: Toleration) => !key && operator === 'Exists' && !value && effect === 'NoExecute';
  return tolerations.some(isSame) ? tolerations.map((each) => (isSame(each) ? forever : each)) : [...tolerations, forever];
}
