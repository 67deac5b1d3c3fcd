package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const gpu = "example.com/gpu"

func list(pairs ...string) v1.ResourceList {
	result := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		result[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return result
}

type change func(*v1.Pod)

func pod(name string, changes ...change) *v1.Pod {
	result := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "image"}}},
	}
	for _, change := range changes {
		change(result)
	}
	return result
}

func requests(pairs ...string) change {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = list(pairs...) }
}

func guaranteed(pairs ...string) change {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list(pairs...), Limits: list(pairs...)}
	}
}

func second(pairs ...string) change {
	return func(pod *v1.Pod) {
		container := v1.Container{Name: "second", Image: "image", Resources: v1.ResourceRequirements{Requests: list(pairs...)}}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
}

func initContainer(policy *v1.ContainerRestartPolicy, pairs ...string) change {
	return func(pod *v1.Pod) {
		name := fmt.Sprintf("init-%d", len(pod.Spec.InitContainers))
		resources := v1.ResourceRequirements{Requests: list(pairs...)}
		container := v1.Container{Name: name, Image: "image", RestartPolicy: policy, Resources: resources}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
}

func overhead(pairs ...string) change {
	return func(pod *v1.Pod) { pod.Spec.Overhead = list(pairs...) }
}

func podLevel(pairs ...string) change {
	return func(pod *v1.Pod) { pod.Spec.Resources = &v1.ResourceRequirements{Requests: list(pairs...)} }
}

func priority(value int32) change { return func(pod *v1.Pod) { pod.Spec.Priority = &value } }

func annotated(key, value string) change {
	return func(pod *v1.Pod) { pod.Annotations = map[string]string{key: value} }
}

func static(pod *v1.Pod) { annotated("kubernetes.io/config.source", "file")(pod) }
func mirror(pod *v1.Pod) { annotated("kubernetes.io/config.mirror", "hash")(pod) }
func api(pod *v1.Pod)    { annotated("kubernetes.io/config.source", "api")(pod) }

func hostPort(pod *v1.Pod) {
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP}}
}

func selecting(key, value string) change {
	return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

func boundTo(node string) change { return func(pod *v1.Pod) { pod.Spec.NodeName = node } }

func labelled(key, value string) change {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{key: value} }
}

func tolerating(pod *v1.Pod) {
	pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
}

// pods returns pods with requests of each kind, of each importance. Values are small against those of the nodes, so that sets of several pods matter.
func pods() []*v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	shapes := map[string][]change{
		"none":       {},
		"small":      {requests("cpu", "100m", "memory", "100Mi")},
		"cpu":        {requests("cpu", "900m")},
		"memory":     {requests("memory", "1500Mi")},
		"guaranteed": {guaranteed("cpu", "500m", "memory", "500Mi")},
		"large":      {guaranteed("cpu", "1500m", "memory", "2Gi")},
		"storage":    {requests("ephemeral-storage", "6Gi", "memory", "1")},
		"gpu":        {guaranteed("cpu", "250m", "memory", "64Mi", gpu, "1")},
		"hugepages":  {guaranteed("cpu", "1m", "memory", "1Mi", "hugepages-2Mi", "4Mi")},
		"sum":        {requests("cpu", "300m"), second("cpu", "400m", "memory", "700Mi"), overhead("cpu", "50m", "memory", "20Mi")},
		"init":       {requests("cpu", "100m"), initContainer(nil, "cpu", "1200m", "memory", "1Gi")},
		"sidecar":    {requests("cpu", "200m"), initContainer(&always, "cpu", "300m", "memory", "300Mi"), initContainer(nil, "cpu", "400m")},
		"pod-level":  {podLevel("cpu", "700m", "memory", "600Mi"), requests("cpu", "100m", "memory", "50Mi")},
		"fractions":  {requests("cpu", "1500u", "memory", "100500m")},
	}
	order := []string{
		"none", "small", "cpu", "memory", "guaranteed", "large", "storage", "gpu", "hugepages", "sum", "init", "sidecar", "pod-level", "fractions",
	}
	importance := []struct {
		name   string
		change change
	}{
		{"plain", api}, {"zero", priority(0)}, {"high", priority(1000)}, {"almost", priority(1_999_999_999)}, {"critical", priority(2_000_000_000)},
		{"node-critical", priority(2_000_001_000)}, {"static", static}, {"mirror", mirror},
	}
	var result []*v1.Pod
	for _, shape := range order {
		for _, level := range importance {
			result = append(result, pod(shape+"-"+level.name, append([]change{level.change}, shapes[shape]...)...))
		}
	}
	return append(result,
		// Preemption counts these pods otherwise than admission, as docs/deviations.md says: they are not preempted.
		pod("overhead-only", static, requests("memory", "100Mi"), overhead("cpu", "700m", "memory", "20Mi")),
		pod("pod-level-storage", static, podLevel("cpu", "200m"), requests("ephemeral-storage", "5Gi")),
		pod("missing-resource", requests("example.com/unknown", "3", "cpu", "1")),
		pod("missing-resource-critical", requests("example.com/unknown", "3", "cpu", "1"), priority(2_000_000_000)),
		pod("unknown-hugepages", guaranteed("cpu", "1", "memory", "1Gi", "hugepages-1Gi", "1Gi")),
		pod("port-a", hostPort), pod("port-b", hostPort), pod("port-critical", hostPort, priority(2_000_000_000), requests("cpu", "1900m")),
		pod("selects-here", selecting("zone", "a")), pod("selects-there", selecting("zone", "b")),
		pod("selects-there-critical", selecting("zone", "b"), priority(2_000_000_000), requests("cpu", "1900m")),
		pod("selects-there-large", selecting("zone", "b"), requests("cpu", "5")),
		pod("bound-here", boundTo("small")), pod("bound-there", boundTo("elsewhere"), requests("cpu", "5")),
		pod("bound-there-critical", boundTo("elsewhere"), requests("cpu", "1900m"), priority(2_000_000_000)),
		pod("tolerates", tolerating, requests("cpu", "1100m")),
		pod("of-linux", labelled("kubernetes.io/os", "linux")), pod("of-windows", labelled("kubernetes.io/os", "windows"), priority(2_000_000_000)),
		pod("for-windows", func(pod *v1.Pod) { pod.Spec.OS = &v1.PodOS{Name: v1.Windows} }),
	)
}

func node(name string, taints []v1.Taint, pairs ...string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a", "kubernetes.io/os": "linux"}},
		Spec:       v1.NodeSpec{Taints: taints},
		Status:     v1.NodeStatus{Allocatable: list(pairs...)},
	}
}

func nodes() []*v1.Node {
	return []*v1.Node{
		node("small", nil, "cpu", "2", "memory", "3Gi", "pods", "110", "ephemeral-storage", "10Gi", gpu, "1", "hugepages-2Mi", "8Mi"),
		node("full", nil, "cpu", "64", "memory", "256Gi", "pods", "3", "ephemeral-storage", "100Gi"),
		node("tight", nil, "cpu", "1900m", "memory", "2Gi", "pods", "5", "ephemeral-storage", "11Gi", gpu, "0"),
		node("tainted", []v1.Taint{{Key: "gone", Effect: v1.TaintEffectNoExecute}, {Key: "other", Effect: v1.TaintEffectNoSchedule}},
			"cpu", "2", "memory", "4Gi", "pods", "6"),
	}
}
