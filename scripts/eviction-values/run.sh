#!/bin/sh
# Writes the expected values of evictions from upstream's own code, built in a folder of its own, where the files of overlay/ export what
# upstream's packages do not. Takes minutes.
#
#   sh scripts/eviction-values/run.sh > test/unit/main/eviction/eviction-vectors.jsonl
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp go.mod go.sum ./*.go "$build"
overlay=$PWD/overlay
cd "$build"
go mod vendor
cp "$overlay/eviction.go" vendor/k8s.io/kubernetes/pkg/kubelet/eviction/zz_vectors.go
cp "$overlay/app.go" vendor/k8s.io/kubernetes/cmd/kubelet/app/zz_vectors.go
go run -trimpath -mod=vendor .
