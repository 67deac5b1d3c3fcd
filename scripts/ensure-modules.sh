#!/bin/sh
# Installs the node modules that the lock file names, when they are missing or older than it. Says so before it does.
# Not `npm ci`: that refuses a lock file that lacks optional packages of other systems, which a mirror may not have had.
set -eu
cd "$(dirname "$0")/.."
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo '==> installing node modules (npm install, versions from package-lock.json)'
  npm install --no-save --no-audit --no-fund --loglevel=error
  touch node_modules/.package-lock.json
fi
