// Package cgroups prints the expected values of cgroups, one in a line: the results of upstream's own functions for a set of pods and settings.
package cgroups

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"

	systemdDbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/systemd"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
)

type object = map[string]any

func Print(out io.Writer) error {
	encoder := json.NewEncoder(out)
	for _, kind := range []struct {
		name string
		rows []any
	}{
		{"weights", weights()}, {"pods", podVectors()}, {"qos", qosVectors()}, {"node", nodeVectors()}, {"containers", containerVectors()},
	} {
		for _, row := range kind.rows {
			if err := encoder.Encode(object{"kind": kind.name, "row": row}); err != nil {
				return err
			}
		}
	}
	return nil
}

func gates(memoryQoS, podLevel, period, reserved bool) {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"MemoryQoS": memoryQoS, "PodLevelResources": podLevel,
		"InPlacePodLevelResourcesVerticalScaling": false, "PodLevelResourceManagers": false,
		"PodLevelResourcesFixDefaulting": podLevel, "PodLevelResourcesFixKubeletQOSClass": podLevel, "CustomCPUCFSQuotaPeriod": period, "QOSReserved": reserved,
	}); err != nil {
		panic(err)
	}
}

func weights() []any {
	var rows []any
	for _, shares := range []uint64{2, 3, 10, 28, 29, 102, 256, 512, 1000, 1023, 1024, 1025, 2048, 4096, 65536, 262143, 262144, 300000} {
		weight := cm.VectorWeight(shares)
		rows = append(rows, []uint64{shares, weight, cm.VectorShares(weight)})
	}
	return rows
}

// config prints a ResourceConfig with page sizes by name; absent values are left out.
func config(rc *cm.ResourceConfig) object {
	result := object{}
	if rc == nil {
		return nil
	}
	if rc.Memory != nil {
		result["memoryBytes"] = *rc.Memory
	}
	if rc.CPUShares != nil {
		result["cpuShares"] = *rc.CPUShares
	}
	if rc.CPUQuota != nil {
		result["cpuQuotaUs"] = *rc.CPUQuota
	}
	if rc.CPUPeriod != nil {
		result["cpuPeriodUs"] = *rc.CPUPeriod
	}
	if rc.PidsLimit != nil {
		result["pidsLimit"] = *rc.PidsLimit
	}
	if rc.HugePageLimit != nil {
		sizes := map[string]int64{}
		for size, limit := range rc.HugePageLimit {
			name, err := v1helper.HugePageUnitSizeFromByteSize(size)
			if err == nil {
				sizes[name] = limit
			}
		}
		result["hugePageLimits"] = sizes
	}
	if rc.Unified != nil {
		result["unified"] = rc.Unified
	}
	return result
}

// properties prints the systemd properties of a config on both versions, as [name, signature, value].
func properties(rc *cm.ResourceConfig) object {
	result := object{}
	for version, unified := range map[string]bool{"v1": false, "v2": true} {
		cgroups.VectorHost(unified)
		properties, err := systemd.VectorProperties(unified, cm.VectorResources(rc, "systemd"))
		if err != nil {
			panic(err)
		}
		result[version] = printed(properties)
	}
	cgroups.VectorHost(true)
	return result
}

func printed(properties []systemdDbus.Property) []any {
	rows := []any{}
	for _, property := range properties {
		rows = append(rows, []string{property.Name, property.Value.Signature().String(), fmt.Sprint(property.Value.Value())})
	}
	sort.Slice(rows, func(a, b int) bool { return rows[a].([]string)[0] < rows[b].([]string)[0] })
	return rows
}

func podVectors() []any {
	cgroups.VectorHost(true)
	type options struct {
		EnforceCPULimits  bool   `json:"enforceCPULimits"`
		CPUPeriodUs       uint64 `json:"cpuPeriodUs"`
		PodLevelResources bool   `json:"podLevelResources"`
		CustomPeriod      bool   `json:"customPeriod"`
		MemoryQoS         bool   `json:"memoryQoS"`
		Policy            string `json:"memoryReservationPolicy"`
		// Null: memory is not throttled.
		Factor *float64 `json:"throttlingFactor"`
	}
	factor := 0.9
	all := []options{
		{true, 100000, true, false, false, "None", nil},
		{false, 100000, true, false, false, "None", nil},
		{true, 100000, false, false, false, "None", nil},
		{true, 20000, true, true, false, "None", nil},
		{true, 20000, true, false, false, "None", nil},
		{true, 100000, true, false, true, "None", nil},
		{true, 100000, true, false, true, "None", &factor},
		{true, 100000, true, false, true, "TieredReservation", &factor},
	}
	var rows []any
	for _, pod := range pods() {
		for _, o := range all {
			gates(true, o.PodLevelResources, o.CustomPeriod, true)
			rc := cm.ResourceConfigForPod(pod, o.EnforceCPULimits, o.CPUPeriodUs, o.MemoryQoS, kubeletconfig.MemoryReservationPolicy(o.Policy))
			if o.MemoryQoS && o.Factor != nil {
				cm.ApplyPodLevelMemoryHigh(pod, rc, *o.Factor)
			}
			row := object{"pod": pod, "options": o, "config": config(rc)}
			if o == all[0] || o.Policy == "TieredReservation" {
				limit := int64(100)
				rc.PidsLimit = &limit
				row["properties"] = properties(rc)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func qosVectors() []any {
	cgroups.VectorHost(true)
	allocatable := list("cpu", "4", "memory", "8Gi")
	var rows []any
	for _, count := range []int{0, 3, 6, len(pods())} {
		for _, memoryQoS := range []bool{false, true} {
			for _, policy := range []string{"None", "TieredReservation"} {
				for _, percent := range []int64{-1, 0, 50, 100} {
					gates(memoryQoS, true, false, percent >= 0)
					reserved := map[v1.ResourceName]int64{}
					if percent >= 0 {
						reserved[v1.ResourceMemory] = percent
					}
					selected := pods()[:count]
					configs := object{}
					for name, rc := range cm.VectorQOS(selected, allocatable, reserved, kubeletconfig.MemoryReservationPolicy(policy)) {
						configs[name] = config(rc)
					}
					rows = append(rows, object{
						"pods": count, "memoryQoS": memoryQoS, "memoryReservationPolicy": policy,
						"reservedPercent": percent, "allocatableMemoryBytes": allocatable.Memory().Value(), "configs": configs,
					})
				}
			}
		}
	}
	return rows
}

func nodeVectors() []any {
	cgroups.VectorHost(true)
	capacity := list("cpu", "4", "memory", "8Gi", "hugepages-2Mi", "64Mi", "pid", "24143")
	var rows []any
	for _, c := range []struct{ system, kube v1.ResourceList }{
		{nil, nil},
		{list("cpu", "100m", "memory", "100Mi"), nil},
		{list("cpu", "100m", "memory", "100Mi", "pid", "1000"), list("cpu", "250m", "memory", "1Gi", "ephemeral-storage", "1Gi")},
		{list("cpu", "5", "memory", "9Gi"), list("cpu", "1")},
		{list("cpu", "3999m"), nil},
	} {
		allocatable := cm.VectorAllocatable(capacity, c.system, c.kube)
		row := object{"capacity": capacity, "systemReserved": c.system, "kubeReserved": c.kube}
		for name, target := range map[string]v1.ResourceList{"allocatable": allocatable, "system": c.system, "kube": c.kube} {
			row[name] = object{"config": config(cm.VectorNodeConfig(target, false)), "compressible": config(cm.VectorNodeConfig(target, true))}
		}
		row["properties"] = properties(cm.VectorNodeConfig(allocatable, false))
		rows = append(rows, row)
	}
	return rows
}

func containerVectors() []any {
	cgroups.VectorHost(true)
	gates(true, true, false, false)
	allocatable := list("cpu", "4", "memory", "7Gi")
	var rows []any
	for _, pod := range pods() {
		for _, factor := range []*float64{nil, pointer(0.9), pointer(0.5), pointer(1)} {
			for _, policy := range []string{"None", "TieredReservation"} {
				rows = append(rows, object{
					"pod": pod, "factor": factor, "memoryReservationPolicy": policy, "allocatableMemoryBytes": allocatable.Memory().Value(),
					"unified": kuberuntime.VectorUnified(pod, allocatable, factor, kubeletconfig.MemoryReservationPolicy(policy)),
				})
			}
		}
	}
	return rows
}

func pointer(value float64) *float64 { return &value }
