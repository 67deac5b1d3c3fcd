/** The field path by which an event names a container. Upstream: fieldPath in pkg/kubelet/container/ref.go. */
import type { Pod } from './api.ts';

/** Returns `spec.containers{app}`, also when the spec is unknown. Undefined when the spec does not have the container. */
export function containerFieldPath(pod: Pod | null, container: string): string | undefined {
  if (!pod) return `spec.containers{${container}}`;
  const lists = ['containers', 'initContainers', 'ephemeralContainers'] as const;
  const list = lists.find((name) => pod.spec[name]?.some((one) => one.name === container));
  return list && `spec.${list}{${container}}`;
}
