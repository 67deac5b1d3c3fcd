#!/bin/sh
# The unit tests, in two halves at once: three thousand small tests are bound by one core. Arguments go to node --test.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
export NODE_COMPILE_CACHE="$PWD/.cache/node"
# Many tests work in a folder of their own: in memory that is cheaper than on a disk.
[ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && export TMPDIR=/dev/shm
half() {
  number=$1
  shift
  # Small tests leave much that is soon forgotten: with more room for it there is less to collect.
  node --max-semi-space-size=64 --test --test-isolation=none --test-shard="$number/2" "$@" 'test/unit/**/*.test.ts'
}
half 1 "$@" &
first=$!
half 2 "$@"
second=$?
wait $first && exit $second
exit 1
