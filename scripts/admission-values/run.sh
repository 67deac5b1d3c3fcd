#!/bin/sh
# Writes the expected decisions of admission and preemption from upstream's own code, with the modules of ../cgroup-values. Takes minutes.
#
#   sh scripts/admission-values/run.sh > test/unit/main/pods/admission/admission-vectors.jsonl
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp ../cgroup-values/go.mod ../cgroup-values/go.sum ./*.go "$build"
cd "$build"
go run -trimpath -mod=mod .
