#!/bin/sh
# Runs all static checks. A failing check does not stop the others.
set -u
cd "$(dirname "$0")/.."
sh scripts/ensure-modules.sh || exit 1
PATH="$PWD/node_modules/.bin:$PATH"
failed=0
part() {
  echo "==> $1"
  shift
  "$@" || failed=1
}
part 'types' tsc -p tsconfig.json
part 'lint, with the import rule' oxlint --type-aware
part 'imports between threads and layers' node scripts/check-imports.ts
part 'names and doors' node scripts/check-names.ts
part 'folders in the tree of docs/architecture.md' node scripts/check-tree.ts
part 'features and their end-to-end tests' node scripts/check-features.ts
part 'fields of a pod' node scripts/check-pod-spec.ts
part 'what is taken from Kubernetes' node scripts/check-upstream.ts
part 'durations of tests' node scripts/check-durations.ts
part 'worked examples' node scripts/check-examples.ts
part 'format' oxfmt --check .
part 'generated code' node scripts/generate-protocols.ts --check
exit $failed
