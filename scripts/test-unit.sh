#!/bin/sh
# Runs the unit tests in two concurrent processes: main's tests, and all others. They share only src/shared, so neither loads code that only
# the other needs. Arguments are passed to node --test.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
export NODE_COMPILE_CACHE="$PWD/.cache/node"
# A larger young generation reduces garbage collections, because small tests allocate many short-lived objects. Each process has one core, so
# one V8 helper thread is better than four.
half() {
  node --min-semi-space-size=16 --max-semi-space-size=64 --v8-pool-size=1 --test --test-isolation=none "$@"
}
half "$@" 'test/unit/main/**/*.test.ts' &
first=$!
half "$@" 'test/unit/{,!(main)/**/}*.test.ts'
second=$?
wait $first && exit $second
exit 1
