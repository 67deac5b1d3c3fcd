package eviction

import (
	"context"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	testingclock "k8s.io/utils/clock/testing"
)

// The unexported decisions of this package, for the program that writes expected values.

func VectorRank(signal evictionapi.Signal, imageFs, split bool, pods []*v1.Pod, stats []statsapi.PodStats) []string {
	ranked := append([]*v1.Pod{}, pods...)
	buildSignalToRankFunc(imageFs, split)[signal](ranked, cachedStatsFunc(stats))
	names := []string{}
	for _, pod := range ranked {
		names = append(names, pod.Name)
	}
	return names
}

type VectorObservation struct {
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	AtMs      int64 `json:"atMs"`
}

func VectorObservations(summary *statsapi.Summary) map[evictionapi.Signal]VectorObservation {
	observations, _ := makeSignalObservations(klog.Background(), summary)
	result := map[evictionapi.Signal]VectorObservation{}
	for signal, o := range observations {
		result[signal] = VectorObservation{o.available.Value(), o.capacity.Value(), o.time.UnixMilli()}
	}
	return result
}

func VectorMessage(starved v1.ResourceName, pod *v1.Pod, stats []statsapi.PodStats, thresholds []evictionapi.Threshold, summary *statsapi.Summary) (string, map[string]string) {
	observations, _ := makeSignalObservations(klog.Background(), summary)
	return evictionMessage(starved, pod, cachedStatsFunc(stats), thresholds, observations)
}

func VectorResource(signal evictionapi.Signal) v1.ResourceName { return signalToResource[signal] }

func VectorThresholdQuantity(value evictionapi.ThresholdValue, capacity int64) string {
	return evictionapi.GetThresholdQuantity(value, resource.NewQuantity(capacity, resource.BinarySI)).String()
}

// Eviction is one call of the function that kills pods.
type Eviction struct {
	Pod                string            `json:"pod"`
	GracePeriodSeconds int64             `json:"gracePeriodSeconds"`
	Reason             string            `json:"reason"`
	Message            string            `json:"message"`
	DisruptionReason   string            `json:"disruptionReason,omitempty"`
	DisruptionMessage  string            `json:"disruptionMessage,omitempty"`
	Annotations        map[string]string `json:"annotations,omitempty"`
}

// PassResult is what one pass of the manager did.
type PassResult struct {
	Conditions []string   `json:"conditions"`
	Evictions  []Eviction `json:"evictions"`
	Reclaims   []string   `json:"reclaims"`
	NodeEvents []string   `json:"nodeEvents"`
	Rejections []string   `json:"rejections"`
}

// Step is one pass: the time since the pass before it, what the node uses, and what it uses once dead containers and images are gone.
type Step struct {
	AdvanceMs    int64
	Summary      *statsapi.Summary
	AfterReclaim *statsapi.Summary
	ActivePods   []*v1.Pod
	AdmittedPods []*v1.Pod
}

type passRecorder struct {
	result      *PassResult
	annotations map[string]string
	summary     *statsapi.Summary
	after       *statsapi.Summary
}

func (p *passRecorder) Get(_ context.Context, _ bool) (*statsapi.Summary, error) {
	return p.summary, nil
}
func (p *passRecorder) GetCPUAndMemoryStats(_ context.Context) (*statsapi.Summary, error) {
	return p.summary, nil
}
func (p *passRecorder) reclaimed(what string) error {
	p.result.Reclaims = append(p.result.Reclaims, what)
	if p.after != nil {
		p.summary = p.after
	}
	return nil
}
func (p *passRecorder) DeleteUnusedImages(_ context.Context) error {
	return p.reclaimed("unusedImages")
}
func (p *passRecorder) DeleteAllUnusedContainers(_ context.Context) error {
	return p.reclaimed("deadContainers")
}
func (p *passRecorder) Event(_ runtime.Object, _, _, _ string) {}
func (p *passRecorder) Eventf(_ runtime.Object, eventType, reason, format string, args ...interface{}) {
	p.result.NodeEvents = append(p.result.NodeEvents, eventType+" "+reason+" "+args[0].(v1.ResourceName).String())
}
func (p *passRecorder) AnnotatedEventf(_ runtime.Object, annotations map[string]string, _, _, _ string, _ ...interface{}) {
	p.annotations = annotations
}

type disks struct{ imageFs, split bool }

func (d disks) HasDedicatedImageFs(_ context.Context) (bool, error)     { return d.imageFs, nil }
func (d disks) HasDedicatedContainerFs(_ context.Context) (bool, error) { return d.split, nil }

// Simulate runs a manager through the steps.
func Simulate(config Config, imageFs, split, isolation bool, startMs int64, steps []Step) []PassResult {
	clock := testingclock.NewFakeClock(time.UnixMilli(startMs))
	recorder := &passRecorder{}
	kill := func(pod *v1.Pod, _ bool, gracePeriodOverride *int64, fn func(*v1.PodStatus)) error {
		status := &v1.PodStatus{}
		fn(status)
		eviction := Eviction{Pod: pod.Name, GracePeriodSeconds: *gracePeriodOverride, Reason: status.Reason, Message: status.Message, Annotations: recorder.annotations}
		for _, condition := range status.Conditions {
			eviction.DisruptionReason, eviction.DisruptionMessage = condition.Reason, condition.Message
		}
		recorder.result.Evictions = append(recorder.result.Evictions, eviction)
		return nil
	}
	manager := &managerImpl{
		clock: clock, killPodFunc: kill, imageGC: recorder, containerGC: recorder, config: config, recorder: recorder, summaryProvider: recorder,
		nodeRef: &v1.ObjectReference{Kind: "Node", Name: "node"}, nodeConditionsLastObservedAt: nodeConditionsObservedAt{},
		thresholdsFirstObservedAt: thresholdsObservedAt{}, localStorageCapacityIsolation: isolation,
	}
	var results []PassResult
	for _, step := range steps {
		clock.Step(time.Duration(step.AdvanceMs) * time.Millisecond)
		result := PassResult{Conditions: []string{}, Evictions: []Eviction{}, Reclaims: []string{}, NodeEvents: []string{}, Rejections: []string{}}
		recorder.result, recorder.summary, recorder.after = &result, step.Summary, step.AfterReclaim
		pods := append([]*v1.Pod{}, step.ActivePods...)
		if _, err := manager.synchronize(context.Background(), disks{imageFs, split}, func() []*v1.Pod { return pods }); err != nil {
			panic(err)
		}
		for _, condition := range manager.nodeConditions {
			result.Conditions = append(result.Conditions, string(condition))
		}
		sort.Strings(result.Conditions)
		for _, pod := range step.AdmittedPods {
			if answer := manager.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod}); !answer.Admit {
				message := answer.Message
				if len(manager.nodeConditions) > 1 {
					message = "several conditions"
				}
				result.Rejections = append(result.Rejections, pod.Name+": "+answer.Reason+": "+message)
			}
		}
		results = append(results, result)
	}
	return results
}
