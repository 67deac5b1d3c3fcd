/**
 * Rejects pods while the node is under pressure. Critical pods run always; under memory pressure alone, so do pods with requests and pods that tolerate
 * its taint. Upstream: Admit in pkg/kubelet/eviction/eviction_manager.go.
 */
import type { PressureCondition } from '../../../shared/contracts/eviction.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import type { AdmitHandler } from './admit-handler.ts';
import { isCriticalPod } from '../../../shared/kubernetes/critical-pod.ts';
import { toleratesTaint } from './taints.ts';

/** @param tolerationComparisons gate TaintTolerationComparisonOperators */
export function pressureAdmission(conditions: () => ReadonlySet<PressureCondition>, tolerationComparisons: boolean): AdmitHandler {
  return (pod) => {
    const current = conditions();
    if (current.size === 0 || isCriticalPod(pod)) return null;
    const onlyMemory = current.size === 1 && current.has('MemoryPressure');
    if (onlyMemory && (qosClass(pod) !== 'BestEffort' || toleratesTaint(pod, memoryPressureTaint, tolerationComparisons))) return null;
    return { rejection: { reason: 'Evicted', message: `The node had condition: [${[...current].join(' ')}]. ` } };
  };
}

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
