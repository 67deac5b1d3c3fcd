#!/bin/sh
# npm run test:conformance: upstream's end-to-end tests of nodes, built from its Go modules, against bin/kubelet. Options: test/conformance/run.ts.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
  echo 'npm run test:conformance needs root: it starts containerd and real containers' >&2
  exit 1
fi
sh lab/host/packages.sh
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node test/conformance/run.ts "$@"
