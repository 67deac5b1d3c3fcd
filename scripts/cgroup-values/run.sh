#!/bin/sh
# Writes the expected values of cgroups from upstream's own code, built in a folder of its own, where the files of overlay/ export what
# upstream's packages do not. Takes minutes.
#
#   sh scripts/cgroup-values/run.sh > test/unit/shared/linux/cgroup-vectors.jsonl
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp go.mod go.sum ./*.go "$build"
overlay=$PWD/overlay
cd "$build"
go mod vendor
cp "$overlay/cm.go" vendor/k8s.io/kubernetes/pkg/kubelet/cm/zz_vectors.go
cp "$overlay/kuberuntime.go" vendor/k8s.io/kubernetes/pkg/kubelet/kuberuntime/zz_vectors.go
cp "$overlay/cgroups.go" vendor/github.com/opencontainers/cgroups/zz_vectors.go
cp "$overlay/systemd.go" vendor/github.com/opencontainers/cgroups/systemd/zz_vectors.go
go run -trimpath -mod=vendor .
