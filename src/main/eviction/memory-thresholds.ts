/** The eviction thresholds of memory, for the thread that waits for the kernel's notifications. Pure. Upstream: ParseThresholdConfig. */
import type { MemoryThreshold } from '../../shared/contracts/stats.ts';
import { value } from '../../shared/kubernetes/quantity.ts';
import { isNoThreshold } from '../config/no-threshold.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';

type Settings = Pick<KubeletConfiguration, 'evictionHard' | 'evictionSoft' | 'enforceNodeAllocatable'>;

/** When the limit of all pods together is enforced, the hard threshold of the node also applies to them. 0% and 100% mean no threshold. */
export function memoryThresholds({ evictionHard, evictionSoft, enforceNodeAllocatable }: Settings): MemoryThreshold[] {
  const isEnforced = enforceNodeAllocatable.includes('pods');
  const hard = evictionHard['memory.available'];
  const thresholds = [
    toThreshold('node', hard),
    toThreshold('pods', isEnforced ? hard : undefined),
    toThreshold('node', evictionSoft['memory.available']),
    toThreshold('pods', evictionHard['allocatableMemory.available']),
    toThreshold('pods', evictionSoft['allocatableMemory.available']),
  ];
  return thresholds.filter((threshold) => threshold !== undefined);
}

function toThreshold(scope: MemoryThreshold['scope'], text: string | undefined): MemoryThreshold | undefined {
  if (text === undefined || isNoThreshold(text)) return undefined;
  if (!text.endsWith('%')) return { scope, available: { bytes: value(text) } };
  return { scope, available: { fraction: Number.parseFloat(text) / 100 } };
}
