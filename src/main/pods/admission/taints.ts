/** Decides whether a pod tolerates taints. Pure. Upstream: api/core/v1 toleration.go. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { compareInt64 } from '../../../shared/kubernetes/node-selector.ts';
import type { NodeTaint } from './admit-handler.ts';

type Toleration = NonNullable<Pod['spec']['tolerations']>[number];

/**
 * Decides whether the pod tolerates the taints with the effect NoExecute. The kubelet ignores a node's other taints.
 *
 * @param comparisons gate TaintTolerationComparisonOperators, which enables the operators `Gt` and `Lt`
 */
export function toleratesNoExecute(pod: Pod, taints: readonly NodeTaint[], comparisons: boolean): boolean {
  return taints.filter(({ effect }) => effect === 'NoExecute').every((taint) => toleratesTaint(pod, taint, comparisons));
}

export function toleratesTaint({ spec: { tolerations = [] } }: Pod, taint: NodeTaint, comparisons: boolean): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint, comparisons));
}

function tolerates({ key, operator, value = '', effect }: Toleration, taint: NodeTaint, comparisons: boolean): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator) {
    case undefined:
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Gt':
    case 'Lt':
      return comparisons && compareInt64(taint.value ?? '', operator, value);
    default:
      return false;
  }
}
