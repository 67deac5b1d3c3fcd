#!/bin/sh
# npm run test:upgrade: the package of the earlier minor version is upgraded on a kubeadm node, and back: scripts/upgrade/run.ts. Needs root.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
  echo 'npm run test:upgrade needs root: it starts a guest with a network' >&2
  exit 1
fi
sh lab/host/packages.sh --with-guest
sh lab/host/packages.sh --for-go
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/upgrade/run.ts "$@"
