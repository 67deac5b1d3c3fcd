#!/bin/sh
# Runs the Go program of this folder in a copy, with its modules vendored and files of overlay/ added to their packages.
#   run-with-overlay.sh FILE=PACKAGE...
set -eu
overlay=$PWD/overlay
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp go.mod go.sum ./*.go "$build"
cd "$build"
go mod vendor
for pair; do cp "$overlay/${pair%%=*}" "vendor/${pair#*=}/zz_vectors.go"; done
go run -trimpath -mod=vendor .
