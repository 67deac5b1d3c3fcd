/** Answers the calls of the PodResources API. Upstream: pkg/kubelet/apis/podresources/server_v1.go and server_v1alpha1.go. */
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { podFullName, podUID } from '../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import type {
  AllocatableResourcesResponse,
  ContainerResources,
  PodResources,
} from '../../shared/pod-resources/generated/podresources-v1.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { ResourceProviders } from './resource-providers.ts';

export interface PodResourcesListerDependencies {
  readonly podManager: Pick<PodManager, 'all' | 'getByFullName'>;
  /** Whether the pod uses the node's resources or may do so (active-pods.ts). */
  readonly isActive: (pod: Pod) => boolean;
  /** Returns the pod with the resources that were allocated to it. */
  readonly allocatedPod: (pod: Pod) => AllocatedPod;
  readonly providers: ResourceProviders;
  readonly gates: {
    /** KubeletPodResourcesListUseActivePods. Off: List has pods that have ended, too. */
    readonly listUsesActivePods: boolean;
    /** PodLevelResourceManagers. */
    readonly podLevel: boolean;
  };
}

export class PodResourcesLister {
  readonly #deps: PodResourcesListerDependencies;

  constructor(dependencies: PodResourcesListerDependencies) {
    this.#deps = dependencies;
  }

  /** v1alpha1 knows devices only, and lists pods that have ended. */
  list(version: 'v1' | 'v1alpha1'): PodResources[] {
    const { podManager, isActive, allocatedPod, providers, gates } = this.#deps;
    const pods = podManager.all();
    providers.updateAllocatedDevices();
    if (version === 'v1alpha1') return pods.map((pod) => this.#devicesOf(pod));
    return (gates.listUsesActivePods ? pods.filter(isActive) : pods).map((pod) => this.#resourcesOf(allocatedPod(pod)));
  }

  get(namespace: string, name: string): PodResources | undefined {
    const { podManager, isActive, allocatedPod } = this.#deps;
    const pod = podManager.getByFullName(podFullName({ metadata: { name, namespace } }));
    return pod && isActive(pod) ? this.#resourcesOf(allocatedPod(pod)) : undefined;
  }

  allocatable(): AllocatableResourcesResponse {
    return this.#deps.providers.allocatable();
  }

  #resourcesOf(pod: AllocatedPod): PodResources {
    const { providers, gates } = this.#deps;
    const { initContainers = [], containers } = pod.spec;
    return {
      name: pod.metadata.name,
      namespace: pod.metadata.namespace,
      containers: [...initContainers.filter(isRestartableInitContainer), ...containers].map((one) => this.#containerOf(pod, one)),
      cpuIds: gates.podLevel ? providers.podCPUs(podUID(pod)) : [],
      memory: gates.podLevel ? providers.podMemory(podUID(pod)) : [],
    };
  }

  #containerOf(pod: AllocatedPod, container: Container): ContainerResources {
    const { providers } = this.#deps;
    return {
      name: container.name,
      devices: providers.devices(podUID(pod), container.name),
      cpuIds: providers.cpus(pod, container),
      memory: providers.memory(pod, container),
      dynamicResources: providers.dynamicResources(pod, container),
    };
  }

  #devicesOf(pod: Pod): PodResources {
    const containers = pod.spec.containers.map(({ name }) => ({
      name,
      devices: this.#deps.providers.devices(podUID(pod), name).map((devices) => ({ ...devices, topology: undefined })),
      cpuIds: [],
      memory: [],
      dynamicResources: [],
    }));
    return { name: pod.metadata.name, namespace: pod.metadata.namespace, containers, cpuIds: [], memory: [] };
  }
}
