/** Whether a pod bears a node's NoExecute taints, the only ones that a kubelet looks at: pure. Upstream: api/core/v1 toleration.go. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { compares } from './node-affinity.ts';
import type { Taint } from './admit-handler.ts';

type Toleration = NonNullable<Pod['spec']['tolerations']>[number];

/** @param comparisons gate TaintTolerationComparisonOperators: `Gt` and `Lt` count */
export function toleratesNoExecute({ spec: { tolerations = [] } }: Pod, taints: readonly Taint[], comparisons: boolean): boolean {
  return taints
    .filter(({ effect }) => effect === 'NoExecute')
    .every((taint) => tolerations.some((one) => tolerates(one, taint, comparisons)));
}

function tolerates({ key, operator, value = '', effect }: Toleration, taint: Taint, comparisons: boolean): boolean {
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
      return comparisons && compares(taint.value ?? '', operator, value);
    default:
      return false;
  }
}
