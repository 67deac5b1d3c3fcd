#!/bin/sh
# npm run cluster: a whole one-node cluster on this host: control plane, containerd, this kubelet. Says each thing before it does it.
#   npm run cluster           starts what does not run yet, the kubelet anew, and returns; the cluster goes on
#   npm run cluster -- down   removes all of it
# The first start builds the control plane (about ten minutes); it is kept in .cache/.
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
sh scripts/host/packages.sh
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node "scripts/cluster/$command.ts"
