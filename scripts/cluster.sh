#!/bin/sh
# npm run cluster: a one-node cluster on this host: control plane, containerd, this kubelet. Prints each step before executing it.
#   npm run cluster           starts what is not running, restarts the kubelet, and returns; the cluster keeps running
#   npm run cluster -- down   removes the cluster
# The first start builds the control plane (about ten minutes) and keeps it in the user's cache folder.
set -eu
cd "$(dirname "$0")/.."
command=${1:-up}
case "$command" in
  up | down) ;;
  *) sed -n '2,5s/^# //p' scripts/cluster.sh; [ "$command" = --help ] && exit 0; exit 2 ;;
esac
if [ "$(id -u)" != 0 ]; then
  echo 'npm run cluster needs root: it starts containerd and real containers' >&2
  exit 1
fi
sh lab/host/packages.sh
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node "scripts/cluster/$command.ts"
