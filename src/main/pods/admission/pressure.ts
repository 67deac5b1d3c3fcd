/**
 * Rejects pods while the node is under pressure, except critical pods. Under memory pressure alone, pods that are not BestEffort and pods that tolerate
 * the taint of memory pressure are admitted too. Upstream: Admit in pkg/kubelet/eviction/eviction_manager.go.
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
