// Command static-pod-uid asks the Go kubelet's own packages how the UID of a static pod comes about. It makes the data that the
// TypeScript side needs: the table of Go types that a pod is printed by, and test vectors with their printed form and UID.
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
