/** Returns where a pod sets its resources, for a metric (upstream recordPodLevelResourcesAdmission in pkg/kubelet/kubelet_pods.go). Pure. */
import type { Container, Pod } from '../../../shared/kubernetes/api.ts';
import { hasPodLevelResources } from '../../../shared/kubernetes/pod-resources.ts';

export type ResourceConfigMode = '' | 'pod_level' | 'container_level' | 'pod_and_container_level';

export function resourceConfigMode({ spec }: Pod): ResourceConfigMode {
  const hasContainerLevel = [...spec.containers, ...(spec.initContainers ?? [])].some(hasResources);
  if (hasPodLevelResources(spec)) return hasContainerLevel ? 'pod_and_container_level' : 'pod_level';
  return hasContainerLevel ? 'container_level' : '';
}

function hasResources({ resources }: Container): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0;
}
