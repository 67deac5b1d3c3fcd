// Command static-pod-uid uses the Go kubelet's packages to compute the UIDs of static pods. It generates the data for the TypeScript
// implementation: the table of Go types by which a pod is printed, and test vectors with their printed form and UID.
//
//	go run . types > ../../src/shared/manifest/static-pod-uid/generated/go-types.ts
//	go run . vectors ../../test/integration/pod-sync/static-pod-uid/vectors
package main

import (
	"fmt"
	"os"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "types":
		err = printTypes(os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == "vectors":
		err = writeVectors(os.Args[2])
	default:
		err = fmt.Errorf("usage: static-pod-uid types | static-pod-uid vectors <folder>")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
