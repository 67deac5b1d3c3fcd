#!/bin/sh
# Writes the expected values of evictions from upstream's own code, built in a folder of its own, where the files of overlay/ export what
# upstream's packages do not. Takes minutes.
#
#   sh scripts/eviction-values/run.sh > test/unit/main/eviction/eviction-vectors.jsonl
set -eu
cd "$(dirname "$0")"
exec sh ../run-with-overlay.sh \
  eviction.go=k8s.io/kubernetes/pkg/kubelet/eviction \
  app.go=k8s.io/kubernetes/cmd/kubelet/app
