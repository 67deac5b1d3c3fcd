package evictions

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

const mi = 1 << 20

func list(pairs ...string) v1.ResourceList {
	result := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		result[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return result
}

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
}

// Absent fields of the rows below are not known.

type storageRow struct {
	UsedBytes  *uint64 `json:"usedBytes,omitempty"`
	InodesUsed *uint64 `json:"inodesUsed,omitempty"`
}

type containerRow struct {
	Name        string      `json:"name"`
	MemoryBytes *uint64     `json:"memoryBytes,omitempty"`
	Rootfs      *storageRow `json:"rootfs,omitempty"`
	Logs        *storageRow `json:"logs,omitempty"`
}

type volumeRow struct {
	Name       string  `json:"name"`
	UsedBytes  *uint64 `json:"usedBytes"`
	InodesUsed *uint64 `json:"inodesUsed"`
}

type statsRow struct {
	MemoryBytes           *uint64        `json:"memoryBytes,omitempty"`
	Processes             *uint64        `json:"processes,omitempty"`
	EphemeralStorageBytes *uint64        `json:"ephemeralStorageBytes,omitempty"`
	Containers            []containerRow `json:"containers"`
	Volumes               []volumeRow    `json:"volumes"`
}

func amount(max int) *uint64 {
	value := uint64(random.Intn(max))*mi/7 + uint64(random.Intn(5))*mi
	return &value
}

func count(max int) *uint64 {
	value := uint64(random.Intn(max))
	return &value
}

func storage() *storageRow {
	if chance(10) {
		return nil
	}
	row := &storageRow{UsedBytes: amount(500), InodesUsed: count(5000)}
	if chance(5) {
		row.UsedBytes = nil
	}
	return row
}

func quantity(max int, units ...string) string {
	return fmt.Sprintf("%d%s", 1+random.Intn(max), pick(units...))
}

func randomResources() v1.ResourceRequirements {
	requests := v1.ResourceList{}
	if chance(60) {
		requests[v1.ResourceMemory] = resource.MustParse(quantity(60, "Mi", "M"))
	}
	if chance(50) {
		requests[v1.ResourceEphemeralStorage] = resource.MustParse(quantity(100, "Mi", "M"))
	}
	return v1.ResourceRequirements{Requests: requests}
}

// randomPods makes pods and their usage by name. A pod without a row has no known usage.
func randomPods(n int) ([]*v1.Pod, map[string]*statsRow) {
	var pods []*v1.Pod
	stats := map[string]*statsRow{}
	for i := range n {
		p := pod(fmt.Sprintf("pod%d", i))
		if chance(60) {
			priority := pick[int32](0, 10, -5, 1000, 2000000000)
			p.Spec.Priority = &priority
		}
		if chance(8) {
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		}
		if chance(5) {
			p.Annotations = map[string]string{"kubernetes.io/config.mirror": "hash"}
		}
		if chance(50) {
			grace := pick[int64](0, 3, 30, 100)
			p.Spec.TerminationGracePeriodSeconds = &grace
		}
		p.Spec.Containers[0].Resources = randomResources()
		for c := range random.Intn(3) {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprintf("more%d", c), Resources: randomResources()})
		}
		if chance(30) {
			init := v1.Container{Name: "init", Resources: randomResources()}
			if chance(50) {
				always := v1.ContainerRestartPolicyAlways
				init.RestartPolicy = &always
			}
			p.Spec.InitContainers = []v1.Container{init}
		}
		if chance(15) {
			p.Spec.Overhead = list("memory", "7Mi")
		}
		if chance(15) {
			p.Spec.Resources = &v1.ResourceRequirements{Requests: list("memory", quantity(100, "Mi"))}
		}
		p.Spec.Volumes = []v1.Volume{
			{Name: "empty", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
			{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}},
			{Name: "secret", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}},
			{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}},
		}
		pods = append(pods, p)
		if chance(8) {
			continue
		}
		row := &statsRow{MemoryBytes: amount(900), Processes: count(10000), EphemeralStorageBytes: amount(3000), Containers: []containerRow{}, Volumes: []volumeRow{}}
		if chance(4) {
			row.MemoryBytes, row.Processes = nil, nil
		}
		names := []string{}
		for _, c := range p.Spec.Containers {
			names = append(names, c.Name)
		}
		for _, c := range p.Spec.InitContainers {
			names = append(names, c.Name)
		}
		for _, name := range append(names, "ephemeral") {
			if chance(90) {
				row.Containers = append(row.Containers, containerRow{Name: name, MemoryBytes: amount(400), Rootfs: storage(), Logs: storage()})
			}
		}
		for _, volume := range p.Spec.Volumes {
			if chance(70) {
				row.Volumes = append(row.Volumes, volumeRow{Name: volume.Name, UsedBytes: amount(500), InodesUsed: count(3000)})
			}
		}
		stats[p.Name] = row
	}
	return pods, stats
}

// limitStorage gives the pods limits of local storage, some of which they exceed.
func limitStorage(pods []*v1.Pod, _ map[string]*statsRow) {
	for _, p := range pods {
		if chance(30) {
			size := resource.MustParse(quantity(100, "Mi", "M"))
			if chance(10) {
				size = resource.MustParse("0")
			}
			p.Spec.Volumes[pick(0, 1)].EmptyDir.SizeLimit = &size
		}
		for i := range p.Spec.Containers {
			if chance(30) {
				p.Spec.Containers[i].Resources.Limits = list("ephemeral-storage", quantity(200, "Mi", "M"))
			}
		}
		for i := range p.Spec.InitContainers {
			if chance(30) {
				p.Spec.InitContainers[i].Resources.Limits = list("ephemeral-storage", quantity(2, "Gi"))
			}
		}
	}
}

func (s *storageRow) stats() *statsapi.FsStats {
	if s == nil {
		return nil
	}
	return &statsapi.FsStats{UsedBytes: s.UsedBytes, InodesUsed: s.InodesUsed}
}

func toStats(pods []*v1.Pod, rows map[string]*statsRow) []statsapi.PodStats {
	var result []statsapi.PodStats
	for _, p := range pods {
		row := rows[p.Name]
		if row == nil {
			continue
		}
		stats := statsapi.PodStats{PodRef: statsapi.PodReference{Name: p.Name, UID: string(p.UID)}}
		if row.MemoryBytes != nil {
			stats.Memory = &statsapi.MemoryStats{WorkingSetBytes: row.MemoryBytes}
		}
		if row.Processes != nil {
			stats.ProcessStats = &statsapi.ProcessStats{ProcessCount: row.Processes}
		}
		if row.EphemeralStorageBytes != nil {
			stats.EphemeralStorage = &statsapi.FsStats{UsedBytes: row.EphemeralStorageBytes}
		}
		for _, c := range row.Containers {
			container := statsapi.ContainerStats{Name: c.Name, Rootfs: c.Rootfs.stats(), Logs: c.Logs.stats()}
			if c.MemoryBytes != nil {
				container.Memory = &statsapi.MemoryStats{WorkingSetBytes: c.MemoryBytes}
			}
			stats.Containers = append(stats.Containers, container)
		}
		for _, v := range row.Volumes {
			stats.VolumeStats = append(stats.VolumeStats, statsapi.VolumeStats{Name: v.Name, FsStats: statsapi.FsStats{UsedBytes: v.UsedBytes, InodesUsed: v.InodesUsed}})
		}
		result = append(result, stats)
	}
	return result
}

type memoryRow struct {
	AvailableBytes  uint64 `json:"availableBytes"`
	WorkingSetBytes uint64 `json:"workingSetBytes"`
	AtMs            int64  `json:"atMs"`
}

type filesystemRow struct {
	AvailableBytes uint64 `json:"availableBytes"`
	CapacityBytes  uint64 `json:"capacityBytes"`
	InodesFree     uint64 `json:"inodesFree"`
	Inodes         uint64 `json:"inodes"`
	AtMs           int64  `json:"atMs"`
}

type processesRow struct {
	Running int64 `json:"running"`
	Max     int64 `json:"max"`
	AtMs    int64 `json:"atMs"`
}

type nodeRow struct {
	Memory            *memoryRow     `json:"memory,omitempty"`
	AllocatableMemory *memoryRow     `json:"allocatableMemory,omitempty"`
	NodeFs            *filesystemRow `json:"nodefs,omitempty"`
	ImageFs           *filesystemRow `json:"imagefs,omitempty"`
	ContainerFs       *filesystemRow `json:"containerfs,omitempty"`
	Processes         *processesRow  `json:"processes,omitempty"`
}

func randomMemory(atMs int64) *memoryRow {
	if chance(3) {
		return nil
	}
	capacity := uint64(8 << 30)
	available := uint64(random.Int63n(8 << 30))
	return &memoryRow{AvailableBytes: available, WorkingSetBytes: capacity - available, AtMs: atMs}
}

func randomFilesystem(atMs int64) *filesystemRow {
	if chance(3) {
		return nil
	}
	return &filesystemRow{AvailableBytes: uint64(random.Int63n(100 << 30)), CapacityBytes: 100 << 30, InodesFree: uint64(random.Intn(1000000)), Inodes: 1000000, AtMs: atMs}
}

func randomNode(atMs int64, imageFs, split bool) nodeRow {
	row := nodeRow{
		Memory: randomMemory(atMs), AllocatableMemory: randomMemory(atMs), NodeFs: randomFilesystem(atMs), ImageFs: randomFilesystem(atMs),
		Processes: &processesRow{Running: random.Int63n(32768), Max: 32768, AtMs: atMs},
	}
	row.ContainerFs = row.NodeFs
	if imageFs && !split {
		row.ContainerFs = row.ImageFs
	}
	return row
}

func (m *memoryRow) stats() *statsapi.MemoryStats {
	if m == nil {
		return nil
	}
	return &statsapi.MemoryStats{Time: metav1.NewTime(time.UnixMilli(m.AtMs)), AvailableBytes: &m.AvailableBytes, WorkingSetBytes: &m.WorkingSetBytes}
}

func (f *filesystemRow) stats() *statsapi.FsStats {
	if f == nil {
		return nil
	}
	return &statsapi.FsStats{Time: metav1.NewTime(time.UnixMilli(f.AtMs)), AvailableBytes: &f.AvailableBytes, CapacityBytes: &f.CapacityBytes, InodesFree: &f.InodesFree, Inodes: &f.Inodes}
}

func (n nodeRow) summary(pods []statsapi.PodStats) *statsapi.Summary {
	return &statsapi.Summary{
		Node: statsapi.NodeStats{
			Memory:           n.Memory.stats(),
			SystemContainers: []statsapi.ContainerStats{{Name: statsapi.SystemContainerPods, Memory: n.AllocatableMemory.stats()}},
			Fs:               n.NodeFs.stats(),
			Runtime:          &statsapi.RuntimeStats{ImageFs: n.ImageFs.stats(), ContainerFs: n.ContainerFs.stats()},
			Rlimit:           &statsapi.RlimitStats{Time: metav1.NewTime(time.UnixMilli(n.Processes.AtMs)), MaxPID: &n.Processes.Max, NumOfRunningProcesses: &n.Processes.Running},
		},
		Pods: pods,
	}
}
