package cgroups

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func list(pairs ...string) v1.ResourceList {
	result := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		result[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return result
}

func container(requests, limits v1.ResourceList) v1.Container {
	return v1.Container{Name: "main", Image: "image", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func pod(name string, containers ...v1.Container) *v1.Pod {
	for i := range containers {
		containers[i].Name += string(rune('a' + i))
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: v1.PodSpec{Containers: containers}}
}

func with(pod *v1.Pod, change func(*v1.PodSpec)) *v1.Pod {
	change(&pod.Spec)
	return pod
}

func pods() []*v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	both := list("cpu", "250m", "memory", "64Mi")
	return []*v1.Pod{
		pod("best-effort", container(nil, nil)),
		pod("guaranteed", container(both, both)),
		pod("burstable-requests", container(list("cpu", "100m", "memory", "100Mi"), nil)),
		pod("burstable-limits", container(list("cpu", "100m", "memory", "100Mi"), list("cpu", "1", "memory", "200Mi"))),
		pod("burstable-one-limited", container(both, list("cpu", "1", "memory", "1Gi")), container(nil, list("memory", "32Mi"))),
		pod("tiny", container(list("cpu", "1m", "memory", "1"), list("cpu", "1m", "memory", "4097"))),
		pod("huge", container(list("cpu", "400"), list("cpu", "400", "memory", "3Ti"))),
		pod("third-of-cpu", container(list("cpu", "333m"), list("cpu", "333m", "memory", "10M"))),
		pod("hugepages", container(
			list("cpu", "1", "memory", "1Gi", "hugepages-2Mi", "16Mi", "hugepages-1Gi", "1Gi"),
			list("cpu", "1", "memory", "1Gi", "hugepages-2Mi", "16Mi", "hugepages-1Gi", "1Gi"))),
		pod("memory-only", container(list("memory", "1Gi"), list("memory", "1Gi"))),
		pod("fractional-bytes", container(list("memory", "100500m"), list("memory", "10k"))),
		with(pod("overhead", container(both, both)), func(spec *v1.PodSpec) { spec.Overhead = list("cpu", "50m", "memory", "20Mi") }),
		with(pod("init", container(both, both)), func(spec *v1.PodSpec) {
			spec.InitContainers = []v1.Container{container(list("cpu", "2", "memory", "1Gi"), list("cpu", "2", "memory", "1Gi"))}
		}),
		with(pod("sidecar", container(both, both)), func(spec *v1.PodSpec) {
			sidecar := container(list("cpu", "20m", "memory", "10Mi"), list("cpu", "20m", "memory", "10Mi"))
			sidecar.RestartPolicy = &always
			spec.InitContainers = []v1.Container{sidecar, container(list("cpu", "1"), list("cpu", "1", "memory", "1Mi"))}
		}),
		with(pod("pod-level", container(nil, nil)), func(spec *v1.PodSpec) {
			spec.Resources = &v1.ResourceRequirements{Requests: list("cpu", "500m", "memory", "256Mi"), Limits: list("cpu", "1", "memory", "512Mi")}
		}),
		with(pod("pod-level-guaranteed", container(list("cpu", "100m"), nil)), func(spec *v1.PodSpec) {
			spec.Resources = &v1.ResourceRequirements{Requests: list("cpu", "2", "memory", "1Gi"), Limits: list("cpu", "2", "memory", "1Gi")}
		}),
		with(pod("pod-level-hugepages", container(list("memory", "32Mi"), nil)), func(spec *v1.PodSpec) {
			spec.Resources = &v1.ResourceRequirements{
				Requests: list("memory", "64Mi", "hugepages-2Mi", "4Mi"), Limits: list("memory", "64Mi", "hugepages-2Mi", "4Mi")}
		}),
	}
}
