package staticpods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/utils/dump"
)

const nodeName = "node-1.example"

// printed is one pod of a manifest: the hashed text and the hash.
type printed struct {
	UID  string `json:"uid"`
	Dump string `json:"dump"`
}

// vector is one line of expected.jsonl.
type vector struct {
	Manifest string    `json:"manifest"`
	Source   string    `json:"source"`
	Origin   string    `json:"origin"`
	NodeName string    `json:"nodeName"`
	Pods     []printed `json:"pods"`
}

// PrintVectors reads each *.manifest of the folder as the kubelet does and prints a line for each. A name that starts with "url" is read over
// HTTP, any other as a file. A manifest whose name starts with "refused" can be decoded, but the kubelet would not run it, so it is not compared
// with the kubelet's source.
func PrintVectors(out io.Writer, folder string) error {
	manifests, err := filepath.Glob(filepath.Join(folder, "*.manifest"))
	if err != nil {
		return err
	}
	// Loads the time zone, as a kubelet's first log line does. Vectors with times need a host in UTC.
	time.Now().Zone()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var failures []error
	for _, manifest := range manifests {
		line, err := readManifest(manifest)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", manifest, err))
			continue
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

func readManifest(path string) (*vector, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".manifest")
	v := &vector{Manifest: name, Source: "file", Origin: "/etc/kubernetes/manifests/" + name + ".yaml", NodeName: nodeName}
	if strings.HasPrefix(name, "url") {
		v.Source, v.Origin = "http", "http://manifests.example/"+name+"?node=1"
	}
	dumps, err := dumpPods(data)
	if err != nil {
		return nil, err
	}
	for _, text := range dumps {
		v.Pods = append(v.Pods, printed{UID: uid(text, v.Source, v.Origin), Dump: text})
	}
	if strings.HasPrefix(name, "refused") {
		return v, nil
	}
	return v, compareWithKubelet(v, dumps, data)
}

// dumpPods returns the text that applyDefaults hashes, for each pod.
func dumpPods(data []byte) ([]string, error) {
	asJSON, err := utilyaml.ToJSON(data)
	if err != nil {
		return nil, err
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), asJSON)
	if err != nil {
		return nil, err
	}
	switch read := object.(type) {
	case *core.Pod:
		return []string{dump.ForHash(read)}, nil
	case *core.PodList:
		var dumps []string
		for i := range read.Items {
			dumps = append(dumps, dump.ForHash(&read.Items[i]))
		}
		return dumps, nil
	default:
		return nil, fmt.Errorf("neither a pod nor a list of pods: %T", object)
	}
}

func uid(text, source, origin string) string {
	hash := fnv.New128a()
	hash.Write([]byte(text))
	if source == "file" {
		fmt.Fprintf(hash, "host:%sfile:%s", nodeName, origin)
	} else {
		fmt.Fprintf(hash, "url:%s", origin)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// compareWithKubelet reads the manifest with the kubelet's real source, where possible (the path or URL differs), and fails unless its
// UIDs are those that uid computes.
func compareWithKubelet(v *vector, dumps []string, data []byte) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pods := config.NewPodConfig(&record.FakeRecorder{}, observer{})
	updates := pods.Channel(ctx, v.Source)
	var origin string
	if v.Source == "file" {
		folder, err := os.MkdirTemp("", "static-pod-uid")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		origin = filepath.Join(folder, "pod.yaml")
		if err := os.WriteFile(origin, data, 0o600); err != nil {
			return err
		}
		config.NewSourceFile(klog.Background(), folder, types.NodeName(nodeName), time.Hour, updates)
	} else {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
		defer server.Close()
		origin = server.URL + "/pods"
		config.NewSourceURL(klog.Background(), origin, http.Header{}, types.NodeName(nodeName), time.Hour, updates)
	}
	want := map[string]bool{}
	for _, text := range dumps {
		want[uid(text, v.Source, origin)] = true
	}
	timeout := time.After(10 * time.Second)
	for {
		select {
		case update := <-pods.Updates():
			if update.Op != kubetypes.ADD {
				continue
			}
			for _, pod := range update.Pods {
				if !want[string(pod.UID)] {
					return fmt.Errorf("the kubelet gives %s the UID %s", pod.Name, pod.UID)
				}
				delete(want, string(pod.UID))
			}
			if len(want) > 0 {
				return fmt.Errorf("the kubelet took %d pods fewer", len(want))
			}
			return nil
		case <-timeout:
			return fmt.Errorf("the kubelet took no pod")
		}
	}
}

// observer ignores all notifications.
type observer struct{}

func (observer) ObservedPodOnWatch(klog.Logger, *corev1.Pod, time.Time) {}
