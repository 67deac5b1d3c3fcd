#!/bin/sh
# Unpacks containerd 1.7 of the next Debian release, which has GetContainerEvents, into FOLDER without installing it:
#   newer-containerd.sh FOLDER
# Does nothing when it exists. Uses the package mirrors of this host.
set -eu
folder=$1
[ ! -x "$folder/usr/bin/containerd" ] || exit 0
echo "==> fetching containerd of Debian trixie into $folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$folder"
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -n -e 's/^URIs: *\([^ ]*\).*/\1/p' -e 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo 'no Debian mirror in /etc/apt/sources.list*' >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > "$work/sources.list"
apt() {
  command apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache::archives="$work/archives" -o APT::Sandbox::User=root "$@"
}
apt update > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
(cd "$work" && apt download containerd > log 2>&1) || { cat "$work/log" >&2; exit 1; }
dpkg -x "$work"/containerd_*.deb "$folder"
