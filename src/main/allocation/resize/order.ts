/** The order in which pending resizes are tried. Pure. Upstream: sortPendingResizes in pkg/kubelet/allocation. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podRequests } from '../../../shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import { compareQuantities } from '../../../shared/kubernetes/quantity.ts';
import type { AllocatedPod } from '../allocated-pod.ts';

export interface PendingResize {
  readonly pod: Pod;
  readonly allocated: AllocatedPod;
  /** Wall-clock ms since when the resize is pending; undefined for a new resize. */
  readonly sinceMs: number | undefined;
}

/** Resizes that increase no request come first, since they always fit; the others follow by priority, QoS class and age. */
export function inOrder(pending: readonly PendingResize[], podLevelResources: boolean): PendingResize[] {
  const rank = ({ pod, allocated, sinceMs = Infinity }: PendingResize) => [
    increasesRequests(pod, allocated, podLevelResources) ? 1 : 0,
    -(pod.spec.priority ?? 0),
    qosClass(pod) === 'Guaranteed' ? 0 : 1,
    sinceMs,
  ];
  const ranked = pending.map((one) => ({ one, ranks: rank(one) }));
  return ranked.toSorted((a, b) => compareLists(a.ranks, b.ranks)).map(({ one }) => one);
}

export function increasesRequests(pod: Pod, allocated: AllocatedPod, podLevelResources: boolean): boolean {
  const options = { skipPodLevel: !podLevelResources };
  const [after, before] = [podRequests(pod, options), podRequests(allocated, options)];
  return ['cpu', 'memory'].some((name) => compareQuantities(after[name], before[name]) > 0);
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
