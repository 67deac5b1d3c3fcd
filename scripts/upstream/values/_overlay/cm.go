package cm

import (
	"strings"

	libcontainercgroups "github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// The unexported decisions of this package, for the program that writes expected values.

func init() {
	availableRootControllersOnce.Do(func() {
		availableRootControllers = sets.New("cpu", "cpuset", "memory", "hugetlb", "pids")
	})
}

func VectorWeight(shares uint64) uint64 { return getCPUWeight(&shares) }

func VectorShares(weight uint64) uint64 { return cpuWeightToCPUShares(weight) }

func VectorNodeConfig(list v1.ResourceList, compressibleOnly bool) *ResourceConfig {
	return getCgroupConfigInternal(list, compressibleOnly)
}

func VectorAllocatable(capacity, systemReserved, kubeReserved v1.ResourceList) v1.ResourceList {
	manager := &containerManagerImpl{}
	manager.NodeConfig.SystemReserved = systemReserved
	manager.NodeConfig.KubeReserved = kubeReserved
	return manager.getNodeAllocatableAbsoluteImpl(capacity)
}

// VectorResources converts a config to libcontainer's resources, with a hugetlb hierarchy.
func VectorResources(config *ResourceConfig, driver string) *libcontainercgroups.Resources {
	mounts := &CgroupSubsystems{MountPoints: map[string]string{"hugetlb": "/sys/fs/cgroup/hugetlb"}}
	common := newCgroupCommon(klog.Background(), mounts, driver)
	return common.toResources(klog.Background(), config)
}

// recorder keeps the configs of updates, by the last part of the name.
type recorder struct {
	CgroupManager
	configs map[string]*ResourceConfig
}

func (r *recorder) Update(_ klog.Logger, config *CgroupConfig) error {
	r.configs[strings.ToLower(config.Name[len(config.Name)-1])] = config.ResourceParameters
	return nil
}

func VectorQOS(pods []*v1.Pod, allocatable v1.ResourceList, reserved map[v1.ResourceName]int64, policy kubeletconfig.MemoryReservationPolicy) map[string]*ResourceConfig {
	updates := &recorder{configs: map[string]*ResourceConfig{}}
	root := NewCgroupName(RootCgroupName, "kubepods")
	manager := &qosContainerManagerImpl{
		qosContainersInfo: QOSContainersInfo{
			Guaranteed: root,
			Burstable:  NewCgroupName(root, "burstable"),
			BestEffort: NewCgroupName(root, "besteffort"),
		},
		cgroupManager:           updates,
		activePods:              func() []*v1.Pod { return pods },
		getNodeAllocatable:      func() v1.ResourceList { return allocatable },
		qosReserved:             reserved,
		memoryReservationPolicy: policy,
	}
	if err := manager.UpdateCgroups(klog.Background()); err != nil {
		panic(err)
	}
	return updates.configs
}
