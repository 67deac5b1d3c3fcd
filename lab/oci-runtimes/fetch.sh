#!/bin/sh
# Unpacks crun and gVisor (runsc) of Debian trixie into FOLDER without installing them:
#   fetch.sh FOLDER
# The crun of bookworm refuses the configurations of containerd 1.7. The runsc of sid is built with a Go for which it was not written: it ends when a
# process waits. crun gets the libraries of its release: an interpreter and a library path in FOLDER, which must not move.
# FOLDER/unpacked-at is written at the end; does nothing when it exists. installation.ts has the folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
# Processes that need it at the same time wait for each other.
exec 9> "$folder/lock"
flock 9
[ "$(cat "$folder/unpacked-at" 2>/dev/null)" != "$folder" ] || exit 0
echo "==> fetching crun and runsc from Debian into $folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/../guest/debian.sh"
# Every release has patchelf. The host's fits its libraries.
use_release "$(. /etc/os-release && echo "$VERSION_CODENAME")"
fetch patchelf
mkdir "$work/tools"
dpkg -x "$work"/patchelf_*.deb "$work/tools"
rm -f "$work"/*.deb
use_release trixie
fetch crun runsc libc6 libcap2 libseccomp2 libsystemd0 libyajl2
for package in "$work"/*.deb; do dpkg -x "$package" "$folder"; done
libraries=$(dirname "$(find "$folder" -name libc.so.6)")
"$work/tools/usr/bin/patchelf" --set-interpreter "$(find "$libraries/" -name 'ld-linux*')" --force-rpath --set-rpath "$libraries" "$folder/usr/bin/crun"
echo "$folder" > "$folder/unpacked-at"
