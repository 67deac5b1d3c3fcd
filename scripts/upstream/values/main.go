// Command values prints what this project takes from upstream's own packages: tables that become its source, and the expected values of its
// tests. build.sh builds it and gives it access to unexported functions.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"values/admission"
	"values/cgroups"
	"values/evictions"
	"values/histograms"
	"values/podprotobuf"
	"values/protocols"
	"values/staticpods"
)

// kinds are what can be printed, by name. The argument of the command follows its name.
var kinds = map[string]func(out io.Writer, argument string) error{
	"static-pod-types": func(out io.Writer, _ string) error { return staticpods.PrintTypes(out, kubernetesVersion()) },
	"static-pod-uids":  func(out io.Writer, folder string) error { return staticpods.PrintVectors(out, folder) },
	"cgroups":          func(out io.Writer, _ string) error { return cgroups.Print(out) },
	"evictions":        func(out io.Writer, _ string) error { return evictions.Print(out) },
	"histograms":       func(out io.Writer, _ string) error { return histograms.Print(out) },
	"admission":        func(out io.Writer, _ string) error { return admission.Print(out) },
	"pod-protobuf":     func(out io.Writer, _ string) error { return podprotobuf.PrintTable(out, kubernetesVersion()) },
	"pods-as-protobuf": func(out io.Writer, _ string) error { return podprotobuf.PrintVectors(out) },
	"protocol":         protocols.Print,
}

func main() {
	klog.SetLogger(logr.Discard())
	if len(os.Args) < 2 || kinds[os.Args[1]] == nil {
		names := []string{}
		for name := range kinds {
			names = append(names, name)
		}
		sort.Strings(names)
		fail(fmt.Errorf("usage: values %s [argument]", strings.Join(names, "|")))
	}
	argument := ""
	if len(os.Args) > 2 {
		argument = os.Args[2]
	}
	if err := kinds[os.Args[1]](os.Stdout, argument); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// kubernetesVersion returns the version that go.mod requires.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" {
				return module.Version
			}
		}
	}
	panic("built without k8s.io/kubernetes")
}
