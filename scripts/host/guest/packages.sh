#!/bin/sh
# Installs the Debian packages that build the guest's kernel and disk image.
set -eu
missing=''
need() { # need PACKAGE COMMAND
  command -v "$2" > /dev/null || missing="$missing $1"
}
need bc bc
need bison bison
need debootstrap debootstrap
need e2fsprogs mkfs.ext4
need flex flex
need gcc gcc
need make make
need util-linux setpriv
need xz-utils xz
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
[ -n "$missing" ] || exit 0
echo "==> installing Debian packages:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing > "$log" 2>&1
}
install || { apt-get update -q > "$log" 2>&1 && install; } || { cat "$log" >&2; exit 1; }
