#!/bin/sh
# npm run test:vpa: a VerticalPodAutoscaler resizes running pods of bin/kubelet in place: scripts/vpa/run.ts. Needs root.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
  echo 'npm run test:vpa needs root: it starts containerd and real containers' >&2
  exit 1
fi
sh lab/host/packages.sh --for-go
sh lab/host/packages.sh
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/vpa/run.ts "$@"
