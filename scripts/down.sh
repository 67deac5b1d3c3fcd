#!/bin/sh
# npm run down: removes everything that npm run up created: pods, kubelet, containerd, folders, links, cgroups, built images.
set -eu
cd "$(dirname "$0")/.."
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/up/down.ts "$@"
