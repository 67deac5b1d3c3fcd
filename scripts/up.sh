#!/bin/sh
# npm run up: runs pods on a fresh host and shows a live table of them. Prints each step before executing it.
#   npm run up                                    a private containerd, the kubelet, the pods of examples/
#   npm run up -- --simulate                      the same without root or containerd
#   npm run up -- --runtime-endpoint unix:///...  on an existing runtime
# More: npm run up -- --help
set -eu
cd "$(dirname "$0")/.."
mode=''
for argument in "$@"; do
  case "$argument" in
    --simulate | --help) mode='--modules-only' ;;
  esac
done
if [ -z "$mode" ] && [ "$(id -u)" != 0 ]; then
  echo 'npm run up needs root: it starts containerd and real containers. Without root: npm run up -- --simulate' >&2
  exit 1
fi
sh lab/host/packages.sh $mode
sh scripts/ensure-modules.sh
PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/up/up.ts "$@"
