#!/bin/sh
# npm test: installs missing packages and runs all checks and tests. Exits non-zero on any failure.
#   test.sh [PART|FILE]...    test/runner/run.ts describes them
# KUBELET_TEST_SKIP names parts to skip where they can not run: unit, integration, e2e, guest, check.
set -u
cd "$(dirname "$0")/.."
# The costs of the run include what follows.
export KUBELET_TEST_STARTED="$(cat /proc/uptime);$(head -n 1 /proc/stat)"
# What is downloaded by two programs is downloaded at the same time.
sh scripts/ensure-modules.sh &
modules=$!
case " $* " in
*guest*) sh lab/host/packages.sh --with-guest ;;
*e2e*) sh lab/host/packages.sh ;;
'  ')
  case ",${KUBELET_TEST_SKIP:-}," in
  *,e2e,*guest,* | *,guest,*e2e,*) sh lab/host/packages.sh --modules-only ;;
  *) sh lab/host/packages.sh --with-guest ;;
  esac
  ;;
*) sh lab/host/packages.sh --modules-only ;;
esac || exit 1
wait $modules || exit 1
PATH="$PWD/node_modules/.bin:$PATH" exec node test/runner/run.ts "$@"
