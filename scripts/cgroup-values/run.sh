#!/bin/sh
# Writes the expected values of cgroups from upstream's own code, built in a folder of its own, where the files of overlay/ export what
# upstream's packages do not. Takes minutes.
#
#   sh scripts/cgroup-values/run.sh > test/unit/shared/linux/cgroup-vectors.jsonl
set -eu
cd "$(dirname "$0")"
exec sh ../run-with-overlay.sh \
  cm.go=k8s.io/kubernetes/pkg/kubelet/cm \
  kuberuntime.go=k8s.io/kubernetes/pkg/kubelet/kuberuntime \
  cgroups.go=github.com/opencontainers/cgroups \
  systemd.go=github.com/opencontainers/cgroups/systemd
