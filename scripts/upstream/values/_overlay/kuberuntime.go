package kuberuntime

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// VectorUnified returns the unified resources of a container with MemoryQoS.
func VectorUnified(pod *v1.Pod, allocatable v1.ResourceList, factor *float64, policy kubeletconfig.MemoryReservationPolicy) map[string]string {
	manager := &kubeGenericRuntimeManager{
		machineInfo:                &cadvisorapi.MachineInfo{MemoryCapacity: 8 << 30},
		containerManager:           cm.NewStubContainerManager(),
		getNodeAllocatable:         func() v1.ResourceList { return allocatable },
		getSwapControllerAvailable: func() bool { return false },
		memoryThrottlingFactor:     factor,
		memoryReservationPolicy:    policy,
		singleProcessOOMKill:       new(bool),
	}
	*manager.singleProcessOOMKill = true
	return manager.generateLinuxContainerResources(context.Background(), pod, &pod.Spec.Containers[0], true).Unified
}
