#!/bin/sh
# The unit tests, in two halves at once, since one core runs a half: main's own tests, and all others. The halves share no code but
# src/shared, so neither loads what only the other needs. Arguments go to node --test.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
export NODE_COMPILE_CACHE="$PWD/.cache/node"
# Small tests leave much that is soon forgotten: with more room for it there is less to collect. The halves have a core each, and one
# helper of V8's beside it gets in their way less than four.
half() {
  node --min-semi-space-size=16 --max-semi-space-size=64 --v8-pool-size=1 --test --test-isolation=none "$@"
}
half "$@" 'test/unit/main/**/*.test.ts' &
first=$!
half "$@" 'test/unit/{,!(main)/**/}*.test.ts'
second=$?
wait $first && exit $second
exit 1
