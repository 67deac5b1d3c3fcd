#!/bin/sh
# npm run test:amplification [-- FIELD...]: what the largest pods cost the shipped kubelet: test/support/amplification/run.ts.
set -eu
cd "$(dirname "$0")/.."
sh lab/host/packages.sh
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
node lab/kubelet/build.ts
exec node test/support/amplification/run.ts "$@"
