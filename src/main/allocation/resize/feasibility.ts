/** Decides whether a resize can never be allocated, and why. Pure. Upstream: podResizesAdmitHandler in pkg/kubelet/allocation/handlers.go. */
import type { Container, Pod, PodSpec } from '../../../shared/kubernetes/api.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import { compareQuantities, isZeroQuantity } from '../../../shared/kubernetes/quantity.ts';
import { getsSwap } from '../../../shared/kubernetes/swap.ts';
import { restartsForMemory } from '../../../shared/kubernetes/resizable-resources.ts';
import type { AllocatedPod } from '../allocated-pod.ts';
import { isSameRequirements } from '../pod-allocation.ts';

export interface ResizeSettings {
  readonly cgroupVersion: 1 | 2;
  /** Gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel: boolean;
  /** Gate InPlacePodVerticalScalingMemoryBackedVolumes. */
  readonly memoryBackedVolumes: boolean;
  /** The policy is `static`, and exclusive CPUs can't be resized. */
  readonly exclusiveCPUs: boolean;
  /** The policy is `Static`, and exclusive memory can't be resized. */
  readonly exclusiveMemory: boolean;
  /** Containers may get swap, according to their memory request. */
  readonly limitedSwap: boolean;
}

export interface Infeasible {
  /** The label `reason_detail` of the metric. */
  readonly detail: string;
  readonly message: string;
}

export function infeasibleBecause(pod: Pod, allocated: AllocatedPod, settings: ResizeSettings): Infeasible | null {
  if (settings.limitedSwap && changesSwap(pod, allocated)) {
    return { detail: 'swap_limitation', message: 'In-place resize of containers with swap is not supported.' };
  }
  if (!settings.podLevel && !isSameRequirements(pod.spec.resources, allocated.spec.resources)) {
    return { detail: 'plr_feature_gate_off', message: 'InPlacePodLevelResourcesVerticalScaling is disabled' };
  }
  if (changesMemoryBackedVolumes(pod.spec, allocated.spec)) {
    if (!settings.memoryBackedVolumes)
      return { detail: 'memory_volume_resize_gate_off', message: 'Memory-backed emptyDir volume resize is disabled' };
    if (settings.cgroupVersion === 1)
      return { detail: 'cgroups_v1_unsupported', message: 'Memory-backed emptyDir volume resize is not supported on cgroups v1' };
  }
  if (qosClass(pod) !== 'Guaranteed') return null;
  if (settings.exclusiveCPUs && changesRequest('cpu', pod, allocated)) {
    const message = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
    return { detail: 'guaranteed_pod_cpu_manager_static_policy', message };
  }
  if (settings.exclusiveMemory && changesRequest('memory', pod, allocated)) {
    const message = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"';
    return { detail: 'guaranteed_pod_memory_manager_static_policy', message };
  }
  return null;
}

/** The containers that both pods have. */
function pairs(pod: Pod, allocated: Pod): [Container, Container][] {
  const all = ({ initContainers = [], containers }: PodSpec) => [...initContainers, ...containers];
  const before = new Map(all(allocated.spec).map((container) => [container.name, container]));
  return all(pod.spec).flatMap((container) => {
    const other = before.get(container.name);
    return other ? [[container, other] as [Container, Container]] : [];
  });
}

function changesRequest(name: 'cpu' | 'memory', pod: Pod, allocated: Pod): boolean {
  return pairs(pod, allocated).some(([a, b]) => compareQuantities(a.resources?.requests?.[name], b.resources?.requests?.[name]) !== 0);
}

/** A container's share of the swap follows from its memory request. A container that the resize restarts gets the new share. */
function changesSwap(pod: Pod, allocated: Pod): boolean {
  return pairs(pod, allocated).some(
    ([wanted, current]) =>
      compareQuantities(wanted.resources?.requests?.['memory'], current.resources?.requests?.['memory']) !== 0 &&
      !restartsForMemory(current) &&
      (getsSwap(pod, wanted.resources) || getsSwap(allocated, current.resources)),
  );
}

function changesMemoryBackedVolumes({ volumes = [] }: PodSpec, { volumes: before = [] }: PodSpec): boolean {
  return volumes.some(({ name, emptyDir }) => {
    if (emptyDir?.medium !== 'Memory') return false;
    const current = before.find((volume) => volume.name === name)?.emptyDir?.sizeLimit;
    return !isZeroQuantity(current) && compareQuantities(emptyDir.sizeLimit, current) !== 0;
  });
}
