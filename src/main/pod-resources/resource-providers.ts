/** What the PodResources API asks the resource managers. Upstream: pkg/kubelet/apis/podresources/types.go. */
import type { Container } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  DynamicResource,
} from '../../shared/pod-resources/generated/podresources-v1.ts';

export interface ResourceProviders {
  /** Frees the devices of pods that have ended. Called before a list. */
  updateAllocatedDevices(): void;
  devices(uid: PodUID, container: string): ContainerDevices[];
  /** The numbers of the CPUs that no other container uses. */
  cpus(pod: AllocatedPod, container: Container): bigint[];
  memory(pod: AllocatedPod, container: Container): ContainerMemory[];
  dynamicResources(pod: AllocatedPod, container: Container): DynamicResource[];
  /** The CPUs of the pod as a whole, with those of its containers. */
  podCPUs(uid: PodUID): bigint[];
  /** The memory of the pod as a whole, with that of its containers. */
  podMemory(uid: PodUID): ContainerMemory[];
  /** All that the managers know, allocated or not. */
  allocatable(): AllocatableResourcesResponse;
}

/** The providers of a node without resource managers. */
export const noExclusiveResources: ResourceProviders = {
  updateAllocatedDevices: () => {},
  devices: () => [],
  cpus: () => [],
  memory: () => [],
  dynamicResources: () => [],
  podCPUs: () => [],
  podMemory: () => [],
  allocatable: () => ({ devices: [], cpuIds: [], memory: [] }),
};
