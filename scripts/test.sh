#!/bin/sh
# npm test: installs missing packages and runs all checks and tests. Exits non-zero on any failure, after running every part.
# KUBELET_TEST_SKIP names parts to skip where they can not run: unit, integration, e2e, guest, check.
set -u
cd "$(dirname "$0")/.."
skipped() {
  case ",${KUBELET_TEST_SKIP:-}," in
    *",$1,"*) echo "==> $1: skipped (KUBELET_TEST_SKIP)" && return 0 ;;
  esac
  return 1
}
if skipped e2e; then
  sh scripts/host/packages.sh --modules-only || exit 1
else
  sh scripts/host/packages.sh || exit 1
  sh scripts/host/newer-containerd.sh 1.7 .cache/containerd-1.7 || exit 1
  sh scripts/host/newer-containerd.sh 2.1 .cache/containerd-2.1 || exit 1
fi
sh scripts/ensure-modules.sh || exit 1
PATH="$PWD/node_modules/.bin:$PATH"
failed=0
part() {
  name=$1
  shift
  skipped "$name" && return
  echo "==> $name"
  "$@" || { failed=1; echo "==> $name: FAILED"; }
}
e2e() {
  # The first build of the control plane takes minutes. It runs here, not in the first test that needs it.
  node scripts/host/control-plane-binaries.ts
  built=$?
  node scripts/e2e/run.ts && return $built
}
node scripts/build.ts || exit 1
part check sh scripts/check.sh
part unit sh scripts/test-unit.sh
part integration node --test --test-concurrency=1 --test-timeout=120000 'test/integration/**/*.test.ts'
part e2e e2e
part guest node scripts/e2e/run-guest.ts
exit $failed
