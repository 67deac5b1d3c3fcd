// Command inventory prints what one version of Kubernetes has of each kind of thing that a kubelet follows: feature gates, flags, fields,
// metrics and others. It reads the sources of modules, and needs none of their dependencies: any version can be listed, in seconds.
//
// Input: {"release": "1.37", "modules": {"k8s.io/kubernetes": "/folder", ...}}. Output: by kind and name, what it is and where.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type input struct {
	// Release is the minor release, which determines the state of a feature gate.
	Release string `json:"release"`
	// Modules has the folder of each module by its path.
	Modules map[string]string `json:"modules"`
}

type entry struct {
	Is string `json:"is"`
	In string `json:"in"`
}

// kind is a set of things by name.
type kind map[string]entry

// add keeps both of two things with one name.
func (k kind) add(name, is, in string) {
	before, ok := k[name]
	switch {
	case !ok:
		k[name] = entry{is, in}
	case before.Is != is:
		k[name] = entry{before.Is + "; " + is, before.In}
	}
}

func main() {
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		fail(err)
	}
	release, err := parseRelease(given.Release)
	if err != nil {
		fail(err)
	}
	from, err := load(given.Modules)
	if err != nil {
		fail(err)
	}
	protobuf, err := protocols(from)
	if err != nil {
		fail(err)
	}
	kinds := map[string]kind{
		"gates":         gates(from, release),
		"flags":         flags(from),
		"configuration": configuration(from),
		"defaults":      defaults(from),
		"types":         apiTypes(from),
		"protobuf":      protobuf,
		"metrics":       metrics(from),
		"reasons":       reasons(from),
		"endpoints":     endpoints(from),
		"constants":     constants(from),
		"images":        images(from),
	}
	if err := json.NewEncoder(os.Stdout).Encode(kinds); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
