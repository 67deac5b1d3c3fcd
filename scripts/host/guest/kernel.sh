#!/bin/sh
# Builds the guest's kernel: User Mode Linux of Debian's newest kernel source, with what kernel.config adds.
#   kernel.sh FOLDER
# FOLDER/linux is the result. Does nothing when it exists for this kernel.config. Takes 11 minutes of one CPU, once.
# Debian's own binary lacks PSI, cpuset and a second CPU, and needs a newer libc. Kernels before 7 panic on CPUs with large registers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
# Test runs that start at the same time wait for each other.
exec 9> "$folder/lock"
flock 9
wanted=$(sha256sum < "$here/kernel.config")
[ ! -x "$folder/linux" ] || [ "$(cat "$folder/sum" 2>/dev/null)" != "$wanted" ] || exit 0
. "$here/reuse.sh"
! reuse guest-kernel linux || exit 0
log=$folder/build.log
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
. "$here/debian.sh"
use_release sid
source=$(debian_apt apt-cache depends linux-source | sed -n 's/^ *Depends: *\(linux-source-[^ ]*\).*/\1/p' | head -n 1)
[ -n "$source" ] || { echo 'sid has no linux-source' >&2; exit 1; }
echo "==> fetching $source of Debian sid (200 MB)"
fetch "$source" user-mode-linux
dpkg -x "$work"/user-mode-linux_*.deb "$work/package"
dpkg -x "$work"/linux-source-*.deb "$work/source"
rm "$work"/*.deb
mkdir "$work/tree"
tar -xJf "$work"/source/usr/src/linux-source-*.tar.xz -C "$work/tree" --strip-components=1
cd "$work/tree"
# The package's modules are left out. kernel.config names those that the guest needs, built in.
zcat "$work/package/usr/share/doc/user-mode-linux/config.gz" | sed -e '/=m$/d' > .config
cat "$here/kernel.config" >> .config
if ! make ARCH=um olddefconfig > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  exit 1
fi
sed -n '/^CONFIG_.*=y$/p' "$here/kernel.config" | while read -r option; do
  grep -q "^$option$" .config || echo "the kernel does not have $option" >&2
done
echo "==> building the guest's kernel with $(nproc) CPUs (log: $log)"
nice make ARCH=um -j "$(nproc)" linux >> "$log" 2>&1 &
make_pid=$!
trap 'kill $make_pid 2>/dev/null; exit 1' INT TERM HUP
while kill -0 "$make_pid" 2>/dev/null; do
  sleep 5
  seconds=$((${seconds:-0} + 5))
  [ $((seconds % 60)) != 0 ] || echo "==> still building: $((seconds / 60)) min, $(grep -c '^  CC ' "$log") files compiled"
done
if ! wait "$make_pid"; then
  tail -n 30 "$log" >&2
  echo "the guest's kernel cannot be built; the log is $log" >&2
  exit 1
fi
cp .config "$folder/config"
cp linux "$folder/linux.part"
strip "$folder/linux.part"
mv "$folder/linux.part" "$folder/linux"
echo "$wanted" > "$folder/sum"
