#!/bin/sh
# Installs the node modules of the lock file when they are missing or older than it.
# Does not use `npm ci`, which refuses a lock file without the optional packages of other platforms.
set -eu
cd "$(dirname "$0")/.."
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo '==> installing node modules (npm install, versions from package-lock.json)'
  npm install --no-save --no-audit --no-fund --loglevel=error
  touch node_modules/.package-lock.json
fi
