/** How messages name a pod (upstream pkg/kubelet/util/format). */
import type { Pod } from '../../shared/kubernetes/api.ts';

/** `<name>_<namespace>(<uid>)` */
export function formatPod({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}
