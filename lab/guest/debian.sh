#!/bin/sh
# Sourced by the scripts of this folder: fetches packages of any Debian release into a work folder without installing them.
# Needs $work, an existing folder. Uses the package mirror of this host.

# The mirror that the host's own packages come from.
debian_mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n -e 's/^URIs: *\([^ ]*\).*/\1/p' -e 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep '/debian/*$' | head -n 1
}

debian_apt() {
  command=$1
  shift
  "$command" -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache::archives="$work/archives" -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Acquire::http::Timeout=30 "$@"
}

# use_release RELEASE: reads its package lists.
use_release() {
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || { echo 'no Debian mirror in /etc/apt/sources.list*: the guest is made of Debian packages' >&2; return 1; }
  mkdir -p "$work/lists/partial" "$work/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" > "$work/sources.list"
  debian_apt apt-get update > "$work/log" 2>&1 || { cat "$work/log" >&2; echo "no package lists of $1 from $mirror" >&2; return 1; }
}

# fetch PACKAGE...: of the release in use, into $work.
fetch() {
  (cd "$work" && debian_apt apt-get download "$@" > log 2>&1) || { cat "$work/log" >&2; return 1; }
}
