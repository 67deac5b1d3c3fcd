// Package evictions prints the expected values of evictions, one in a line: the results of upstream's own functions for random pods, usages and
// settings.
package evictions

import (
	"encoding/json"
	"io"
	"math/rand"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	_ "k8s.io/utils/clock/testing" // Of the overlay.
)

type object = map[string]any

var random = rand.New(rand.NewSource(1))

func Print(out io.Writer) error {
	klog.SetLogger(logr.Discard())
	encoder := json.NewEncoder(out)
	for _, kind := range []struct {
		name string
		rows []any
	}{
		{"defaults", defaultVectors()}, {"parse", parseVectors()}, {"containerfs", containerFsVectors()}, {"quantity", quantityVectors()},
		{"rank", rankVectors()}, {"message", messageVectors()}, {"passes", passVectors()},
	} {
		for _, row := range kind.rows {
			if err := encoder.Encode(object{"kind": kind.name, "row": compact(row)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// compact leaves out what is empty in pods.
func compact(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	return withoutEmpty(tree)
}

func withoutEmpty(value any) any {
	switch node := value.(type) {
	case map[string]any:
		for _, key := range []string{"status", "resources", "creationTimestamp"} {
			if child, ok := node[key].(map[string]any); ok && len(child) == 0 || node[key] == nil {
				delete(node, key)
			}
		}
		for key, child := range node {
			node[key] = withoutEmpty(child)
		}
	case []any:
		for i, child := range node {
			node[i] = withoutEmpty(child)
		}
	}
	return value
}

func pick[T any](values ...T) T { return values[random.Intn(len(values))] }

func chance(percent int) bool { return random.Intn(100) < percent }

func defaultVectors() []any {
	var rows []any
	for _, text := range []string{
		"", "evictionHard: {}", "mergeDefaultEvictionSettings: true", "evictionHard: {}\nmergeDefaultEvictionSettings: true",
		"evictionHard: {memory.available: 200Mi}", "evictionHard: {memory.available: 200Mi}\nmergeDefaultEvictionSettings: true",
		"evictionHard: {pid.available: '10%', nodefs.available: '0%'}\nmergeDefaultEvictionSettings: true",
		"evictionHard: {imagefs.inodesFree: '100%'}\nmergeDefaultEvictionSettings: false",
	} {
		path := "kubelet.yaml"
		content := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + text + "\n"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			panic(err)
		}
		hard, err := app.VectorEvictionHard(path)
		if err != nil {
			panic(err)
		}
		rows = append(rows, object{"file": content, "evictionHard": hard})
	}
	return rows
}

type thresholdValue struct {
	Quantity   *string  `json:"quantity,omitempty"`
	Percentage *float64 `json:"percentage,omitempty"`
}

func printValue(value evictionapi.ThresholdValue) thresholdValue {
	if value.Quantity != nil {
		text := value.Quantity.String()
		return thresholdValue{Quantity: &text}
	}
	percentage := float64(value.Percentage)
	return thresholdValue{Percentage: &percentage}
}

// printThresholds sorts: upstream's order is that of a Go map. A threshold without an operator is one that upstream adds for nothing, and is never met.
func printThresholds(thresholds []evictionapi.Threshold) []any {
	rows := []any{}
	sort.SliceStable(thresholds, func(i, j int) bool {
		a, b := thresholds[i], thresholds[j]
		return a.Signal < b.Signal || a.Signal == b.Signal && a.GracePeriod < b.GracePeriod
	})
	for _, t := range thresholds {
		if t.Operator == "" {
			continue
		}
		row := object{"signal": t.Signal, "value": printValue(t.Value), "gracePeriodMs": t.GracePeriod.Milliseconds()}
		if t.MinReclaim != nil {
			row["minReclaim"] = printValue(*t.MinReclaim)
		}
		rows = append(rows, row)
	}
	return rows
}

type settings struct {
	Allocatable []string          `json:"enforceNodeAllocatable"`
	Hard        map[string]string `json:"evictionHard"`
	Soft        map[string]string `json:"evictionSoft"`
	Grace       map[string]string `json:"evictionSoftGracePeriod"`
	MinReclaim  map[string]string `json:"evictionMinimumReclaim"`
}

func (s settings) parse() ([]evictionapi.Threshold, error) {
	return eviction.ParseThresholdConfig(s.Allocatable, s.Hard, s.Soft, s.Grace, s.MinReclaim)
}

var signals = []string{
	"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
	"containerfs.available", "containerfs.inodesFree", "pid.available",
}

func randomSettings(of []string) settings {
	s := settings{Allocatable: pick([]string{}, []string{"pods"}, []string{"system-reserved", "pods"}, []string{"none"}),
		Hard: map[string]string{}, Soft: map[string]string{}, Grace: map[string]string{}, MinReclaim: map[string]string{}}
	for _, signal := range of {
		if chance(45) {
			s.Hard[signal] = pick("100Mi", "10%", "5%", "0%", "100%", "1500M", "33.3%", "7", "1.5Gi", "0.1%", "12.345%")
		}
		if chance(35) {
			s.Soft[signal] = pick("200Mi", "20%", "15.5%", "0%", "2G", "900", "40%")
			s.Grace[signal] = pick("30s", "1m30s", "2m", "1h", "0s", "1.5s")
		}
		if chance(35) {
			s.MinReclaim[signal] = pick("10Mi", "5%", "0", "2.5%", "500M", "3")
		}
	}
	return s
}

func parseVectors() []any {
	var rows []any
	add := func(s settings) {
		thresholds, err := s.parse()
		row := object{"settings": s, "thresholds": printThresholds(thresholds)}
		if err != nil {
			row["error"] = err.Error()
		}
		rows = append(rows, row)
	}
	for range 60 {
		add(randomSettings(signals))
	}
	one := func(signal, text string) map[string]string { return map[string]string{signal: text} }
	for _, text := range []string{"", "-1", "0", "0Mi", "-5%", "101%", "abc", "10 %", "%", "5%%", "1e3", ".5%", "+5%", "1e-3%", "0x10%", "0.0%", "100.0%"} {
		add(settings{Hard: one("memory.available", text)})
		add(settings{MinReclaim: one("memory.available", text), Hard: one("memory.available", "1Gi")})
	}
	add(settings{Hard: one("memory.free", "1Gi")})
	add(settings{Soft: one("memory.available", "1Gi")})
	add(settings{Soft: one("memory.available", "100%")})
	add(settings{Soft: one("memory.available", "1Gi"), Grace: one("memory.available", "-30s")})
	add(settings{Soft: one("memory.available", "1Gi"), Grace: one("memory.available", "soon")})
	add(settings{Soft: one("memory.available", "1Gi"), Grace: one("memory.available", "30s"), MinReclaim: one("memory.free", "1")})
	return rows
}

func containerFsVectors() []any {
	var rows []any
	for range 12 {
		s := randomSettings(signals)
		for _, disks := range [][2]bool{{false, false}, {true, false}, {true, true}} {
			thresholds, err := s.parse()
			if err != nil {
				panic(err)
			}
			result, _ := eviction.UpdateContainerFsThresholds(thresholds, disks[0], disks[1])
			rows = append(rows, object{"settings": s, "imageFs": disks[0], "split": disks[1], "thresholds": printThresholds(result)})
		}
	}
	return rows
}

func quantityVectors() []any {
	var rows []any
	for _, text := range []string{"10%", "5%", "33.3%", "0.1%", "12.345%", "99.99%", "1.5Gi", "100Mi", "1500M", "7", "2.5", "100m"} {
		thresholds, err := eviction.ParseThresholdConfig(nil, map[string]string{"memory.available": text}, nil, nil, nil)
		if err != nil {
			panic(err)
		}
		for _, capacity := range []int64{0, 1, 1000, 33563648 * 1024, 8 << 30, 1<<44 + 12345, 24143, 999983} {
			rows = append(rows, object{"value": text, "capacity": capacity, "quantity": eviction.VectorThresholdQuantity(thresholds[0].Value, capacity)})
		}
	}
	return rows
}

func rankVectors() []any {
	var rows []any
	for range 5 {
		for _, signal := range signals {
			for _, disks := range [][2]bool{{false, false}, {true, false}, {true, true}} {
				if !strings.Contains(signal, "fs") && disks[0] {
					continue
				}
				pods, stats := randomPods(2 + random.Intn(6))
				names := eviction.VectorRank(evictionapi.Signal(signal), disks[0], disks[1], pods, toStats(pods, stats))
				rows = append(rows, object{"signal": signal, "imageFs": disks[0], "split": disks[1], "pods": pods, "stats": stats, "ranked": names})
			}
		}
	}
	return rows
}

func messageVectors() []any {
	var rows []any
	for range 60 {
		signal := evictionapi.Signal(pick(signals...))
		s := randomSettings([]string{string(signal)})
		thresholds, err := s.parse()
		if err != nil {
			panic(err)
		}
		node := randomNode(1, chance(50), chance(50))
		pods, stats := randomPods(1)
		message, annotations := eviction.VectorMessage(eviction.VectorResource(signal), pods[0], toStats(pods, stats), thresholds, node.summary(nil))
		rows = append(rows, object{"resource": eviction.VectorResource(signal), "settings": s, "node": node,
			"observations": eviction.VectorObservations(node.summary(nil)), "pod": pods[0], "stats": stats[pods[0].Name], "message": message, "annotations": annotations})
	}
	return rows
}

// In its first pass, upstream's manager still uses thresholds of containerfs, which it ignores later.
var diskAndPid = []string{"nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}

// passVectors has few thresholds in a row: of several that are met, upstream takes any, unless one is for memory.
func passVectors() []any {
	var rows []any
	for i := range 40 {
		var of []string
		switch i % 5 {
		case 0:
			of = []string{"memory.available"}
		case 1:
			of = []string{"memory.available", pick(diskAndPid...)}
		case 2:
			of = []string{pick(diskAndPid...)}
		case 3:
			of = []string{"allocatableMemory.available"}
		}
		s := settings{Allocatable: []string{}, Hard: map[string]string{}, Soft: map[string]string{}, Grace: map[string]string{}, MinReclaim: map[string]string{}}
		for _, signal := range of {
			if chance(50) {
				s.Hard[signal] = pick("30%", "20%", "50%")
			} else {
				s.Soft[signal] = pick("30%", "40%", "50%")
				s.Grace[signal] = pick("15s", "30s", "1m")
			}
			if chance(40) {
				s.MinReclaim[signal] = pick("10%", "20%")
			}
		}
		thresholds, err := s.parse()
		if err != nil {
			panic(err)
		}
		disks := pick([2]bool{false, false}, [2]bool{true, false}, [2]bool{true, true})
		config := eviction.Config{PressureTransitionPeriod: pick(0, 30*time.Second, time.Minute), MaxPodGracePeriodSeconds: pick[int64](0, 5, 40), Thresholds: thresholds}
		isolation := i%5 == 4 || chance(30)
		pods, stats := randomPods(6)
		if i%5 == 4 {
			limitStorage(pods, stats)
		}
		nowMs := int64(1_800_000_000_000)
		startMs := nowMs
		active := pods
		var steps []eviction.Step
		var inputs []object
		for range 6 {
			advance := pick[int64](10_000, 10_000, 5_000, 30_000)
			nowMs += advance
			node := randomNode(nowMs-pick[int64](0, 300, 2000), disks[0], disks[1])
			step := eviction.Step{AdvanceMs: advance, Summary: node.summary(toStats(pods, stats)), ActivePods: active, AdmittedPods: admittedPods()}
			input := object{"advanceMs": advance, "node": node}
			if chance(50) {
				after := randomNode(nowMs, disks[0], disks[1])
				step.AfterReclaim = after.summary(toStats(pods, stats))
				input["afterReclaim"] = after
			}
			steps = append(steps, step)
			inputs = append(inputs, input)
		}
		results := eviction.Simulate(config, disks[0], disks[1], isolation, startMs, steps)
		for i := range inputs {
			inputs[i]["want"] = results[i]
		}
		rows = append(rows, object{"settings": s, "pressureTransitionPeriodMs": config.PressureTransitionPeriod.Milliseconds(), "maxPodGracePeriodSeconds": config.MaxPodGracePeriodSeconds,
			"imageFs": disks[0], "split": disks[1], "localStorageCapacityIsolation": isolation, "startMs": startMs, "pods": pods, "stats": stats,
			"admitted": admittedPods(), "steps": inputs})
	}
	return rows
}

func admittedPods() []*v1.Pod {
	critical, tolerant, diskTolerant, all := pod("critical"), pod("tolerant"), pod("disk-tolerant"), pod("tolerates-all")
	priority := int32(2000000000)
	critical.Spec.Priority = &priority
	tolerant.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	diskTolerant.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeDiskPressure, Operator: v1.TolerationOpExists}}
	all.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	burstable := pod("burstable")
	burstable.Spec.Containers[0].Resources.Requests = list("memory", "10Mi")
	static := pod("static")
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	return []*v1.Pod{pod("best-effort"), burstable, critical, static, tolerant, diskTolerant, all}
}
