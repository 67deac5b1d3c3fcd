#!/bin/sh
# For scripts/test.sh and scripts/e2e, until the runner of tests fetches what it needs with containerd/installations.ts.
here=$(cd "$(dirname "$0")" && pwd)
PATH="$here/../../node_modules/.bin:$PATH"
exec node "$here/containerd/installations.ts" "$1"
