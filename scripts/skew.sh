#!/bin/sh
# npm run test:skew -- VERSION [FILE...]: end-to-end tests of bin/kubelet with the control plane of another version: scripts/skew/run.ts.
set -eu
cd "$(dirname "$0")/.."
sh lab/host/packages.sh --for-go
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/skew/run.ts "$@"
