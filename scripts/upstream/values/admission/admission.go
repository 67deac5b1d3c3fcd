// Package admission prints how upstream's own admission decides for a set of pods and nodes, one decision in a line, after the lines with the
// pods and nodes.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
	"k8s.io/kubernetes/pkg/kubelet/types"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

type object = map[string]any

// preempted is the event and the status of a preempted pod, which are the same for all.
var preempted object

const decisionsPerNode = 150

func Print(out io.Writer) error {
	legacyregistry.MustRegister(metrics.Preemptions)
	encoder := json.NewEncoder(out)
	var failures []error
	print := func(kind string, row any) {
		if err := encoder.Encode(object{"kind": kind, "row": row}); err != nil {
			failures = append(failures, err)
		}
	}
	all := pods()
	for _, pod := range all {
		print("pods", pod)
	}
	for _, node := range nodes() {
		print("nodes", node)
	}
	random := rand.New(rand.NewSource(3))
	for _, node := range nodes() {
		for range decisionsPerNode {
			pod := all[random.Intn(len(all))]
			print("decisions", decision(node, pod, others(random, all, pod)))
		}
	}
	print("preempted", preempted)
	return errors.Join(failures...)
}

// others returns up to 12 pods, of which most are not critical: they can be preempted.
func others(random *rand.Rand, all []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	active := []*v1.Pod{}
	count := random.Intn(13)
	for _, index := range random.Perm(len(all)) {
		if other := all[index]; other != pod && len(active) < count && (!types.IsCriticalPod(other) || random.Intn(4) == 0) {
			active = append(active, other)
		}
	}
	return active
}

func decision(node *v1.Node, pod *v1.Pod, active []*v1.Pod) object {
	names := []string{}
	for _, other := range active {
		names = append(names, other.Name)
	}
	victims := []string{}
	var status *v1.PodStatus
	kill := func(victim *v1.Pod, isEvicted bool, gracePeriodOverride *int64, change func(*v1.PodStatus)) error {
		if !isEvicted || gracePeriodOverride != nil {
			panic("a preempted pod is evicted with its own grace period")
		}
		victims = append(victims, victim.Name)
		status = &v1.PodStatus{}
		change(status)
		return nil
	}
	recorder := record.NewFakeRecorder(100)
	metrics.Preemptions.Reset()
	handler := lifecycle.NewPredicateAdmitHandler(
		func(context.Context, bool) (*v1.Node, error) { return node.DeepCopy(), nil },
		preemption.NewCriticalPodAdmissionHandler(func() []*v1.Pod { return active }, kill, recorder),
		func(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil },
	)
	result := handler.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: active})
	row := object{"node": node.Name, "pod": pod.Name, "active": names, "admit": result.Admit}
	if !result.Admit {
		row["reason"], row["message"] = result.Reason, result.Message
	}
	if len(victims) > 0 {
		row["victims"] = victims
		row["signal"] = signalOf(len(victims))
		status.Conditions[0].LastTransitionTime = metav1.Time{}
		preempted = object{"event": <-recorder.Events, "status": status}
	}
	return row
}

// signalOf returns the label of the metric of preemptions that counted this many.
func signalOf(count int) string {
	for _, name := range []string{"pods", "cpu", "memory", "ephemeral-storage", gpu, "hugepages-2Mi"} {
		value, err := testutil.GetCounterMetricValue(metrics.Preemptions.WithLabelValues(name))
		if err == nil && int(value) == count {
			return name
		}
	}
	panic("preemptions were not counted")
}
