#!/bin/sh
# The unit tests, in two halves at once: two thousand small tests are bound by one core. Arguments go to node --test.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
export NODE_COMPILE_CACHE="$PWD/.cache/node"
half() {
  number=$1
  shift
  node --test --test-isolation=none --test-shard="$number/2" "$@" 'test/unit/**/*.test.ts'
}
half 1 "$@" &
first=$!
half 2 "$@"
second=$?
wait $first && exit $second
exit 1
