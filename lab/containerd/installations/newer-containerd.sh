#!/bin/sh
# Unpacks a containerd of a later Debian release into FOLDER without installing it, or builds one that no release has:
#   newer-containerd.sh 1.7|2.1|2.3 FOLDER
# 1.7 (trixie) has GetContainerEvents, and runs with the host's runc. 2.1 or what replaces it in sid (2.1.9 in November 2026) has user
# namespaces, image volumes and recursive read-only mounts. It needs runc 1.3, which gets sid's libc and libseccomp: an interpreter and a
# library path in FOLDER, which must not move. 2.3 has subPath of image volumes and stop signals. It is built with Go (test/containerd), in
# minutes, and has the runc of 2.1.
# Uses the package mirrors of this host. FOLDER/unpacked-at is written at the end; does nothing when it exists. installations.ts has the folders.
set -eu
version=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
# Processes that need it at the same time wait for each other.
exec 9> "$folder/lock"
flock 9
[ "$(cat "$folder/unpacked-at" 2>/dev/null)" != "$folder" ] || exit 0
# Every release has patchelf. The host's fits its libraries.
host=$(. /etc/os-release && echo "$VERSION_CODENAME")
case "$version" in
1.7) releases=trixie packages=containerd/trixie ;;
2.1) releases="sid $host" packages="containerd/sid runc/sid libc6/sid libseccomp2/sid patchelf/$host" ;;
2.3) releases="sid $host" packages="runc/sid libc6/sid libseccomp2/sid patchelf/$host" ;;
*) echo "unknown version of containerd: $version" >&2; exit 1 ;;
esac
echo "==> fetching containerd $version from Debian into $folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/tools"
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -n -e 's/^URIs: *\([^ ]*\).*/\1/p' -e 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo 'no Debian mirror in /etc/apt/sources.list*' >&2; exit 1; }
for release in $releases; do
  # Without the lists of translations and of pictures.
  echo "deb [target=Packages signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main"
done > "$work/sources.list"
apt() {
  apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache="$work" -o APT::Sandbox::User=root -o Acquire::Retries=3 "$@"
}
# shellcheck disable=SC2086
(cd "$work" && apt update && apt download $packages) > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for package in "$work"/*.deb; do
  case "$package" in
  */patchelf_*) dpkg -x "$package" "$work/tools" ;;
  *) dpkg -x "$package" "$folder" ;;
  esac
done
if [ "$version" = 2.3 ]; then
  PATH="$here/../../../node_modules/.bin:$PATH" node "$here/build.ts" "$folder/usr/bin"
fi
if [ "$version" != 1.7 ]; then
  libraries=$(dirname "$(find "$folder" -name libc.so.6)")
  "$work/tools/usr/bin/patchelf" --set-interpreter "$(find "$libraries/" -name 'ld-linux*')" --set-rpath "$libraries" "$folder/usr/sbin/runc"
fi
echo "$folder" > "$folder/unpacked-at"
