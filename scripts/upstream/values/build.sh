#!/bin/sh
# Builds the Go programs of this folder, `values` and `featuregates`, in a copy, with its modules vendored, and with the files of _overlay/ that export what upstream's packages do
# not. Takes minutes once: Go keeps what it has compiled.
#   build.sh FOLDER
set -eu
folder=$1
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r . "$build"
cd "$build"
go mod vendor
for pair in \
  cm.go=k8s.io/kubernetes/pkg/kubelet/cm \
  kuberuntime.go=k8s.io/kubernetes/pkg/kubelet/kuberuntime \
  eviction.go=k8s.io/kubernetes/pkg/kubelet/eviction \
  app.go=k8s.io/kubernetes/cmd/kubelet/app \
  cgroups.go=github.com/opencontainers/cgroups \
  systemd.go=github.com/opencontainers/cgroups/systemd; do
  cp "_overlay/${pair%%=*}" "vendor/${pair#*=}/zz_vectors.go"
done
go build -trimpath -mod=vendor -gcflags=all=-dwarf=false -ldflags='-s -w' -o "$folder/" . ./featuregates
