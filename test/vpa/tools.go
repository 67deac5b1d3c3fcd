//go:build tools

// Package vpa names the programs of the VerticalPodAutoscaler, so that go.mod pins them and all they are made of.
// Nothing of it is compiled: scripts/vpa/programs.ts builds each program by its import path.
package vpa

import (
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater"
)
