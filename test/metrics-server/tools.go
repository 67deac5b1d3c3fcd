//go:build tools

// Package metricsserver names the program metrics-server, so that go.mod pins it and all it is made of.
// Nothing of it is compiled: scripts/host/metrics-server-binary.ts builds it by its import path.
package metricsserver

import (
	_ "sigs.k8s.io/metrics-server/cmd/metrics-server"
)
