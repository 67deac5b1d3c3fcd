#!/bin/sh
# Installs the node modules when they are missing or older than the lock file. Says so before it does.
set -eu
cd "$(dirname "$0")/.."
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "==> installing node modules (npm ci)"
  npm ci --no-audit --no-fund --loglevel=error
  touch node_modules/.package-lock.json
fi
