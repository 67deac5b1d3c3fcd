#!/bin/sh
# Builds the guest's kernel: User Mode Linux from Debian's newest kernel source, as kernel.config says.
#   kernel.sh FOLDER
# FOLDER/linux is the result. Does nothing when it exists. Takes about eight minutes of one CPU, once.
# Debian's own binary lacks PSI, cpuset and a second CPU, and needs a newer libc. Kernels before 7 panic on CPUs with large registers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)
# Builds that start at the same time wait for each other.
exec 9> "$folder/lock"
flock 9
[ ! -x "$folder/linux" ] || exit 0
# Of a build that was killed
rm -rf "$folder"/build.*
log=$folder/kernel.log
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
. "$here/debian.sh"
use_release sid
source=$(debian_apt apt-cache depends linux-source | sed -n 's/^ *Depends: *\(linux-source-[^ ]*\).*/\1/p' | head -n 1)
[ -n "$source" ] || { echo 'sid has no linux-source' >&2; exit 1; }
echo "==> fetching $source of Debian sid (160 MB)"
fetch "$source"
mkdir "$work/tree"
# Two thirds of the source is code that no guest has a use for. The configuration of all parts is needed.
set -- --exclude='*/Documentation/*.rst' --exclude='*/Documentation/*.yaml' --exclude='*.dts' --exclude='*.dtsi'
for part in arch/arm arch/arm64 arch/mips arch/powerpc drivers/accel drivers/gpu drivers/media drivers/net/ethernet drivers/net/wireless drivers/staging \
  sound tools/perf tools/testing; do
  set -- "$@" --exclude="*/$part/*.[chS]"
done
dpkg --fsys-tarfile "$work"/linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' > "$work/source.tar.xz"
rm "$work"/*.deb
tar -xJf "$work/source.tar.xz" -C "$work/tree" --strip-components=1 "$@"
rm "$work/source.tar.xz"
cd "$work/tree"
cp "$here/kernel.config" .config
fail() { # fail MESSAGE: with the end of the log
  tail -n 30 "$log" >&2
  echo "$1; the log is $log" >&2
  exit 1
}
make ARCH=um olddefconfig > "$log" 2>&1 || fail "the guest's kernel cannot be configured"
# An option disappears without a message when the source has renamed it, and when another one that it needs is not set.
lacking=$(sed -n '/^CONFIG_/p' "$here/kernel.config" | grep -vxFf .config || true)
unwanted=$(sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set$/^\1=/p' "$here/kernel.config" | grep -f - .config || true)
[ -z "$lacking$unwanted" ] || fail "the kernel would not be as kernel.config says. It lacks: $lacking. It has: $unwanted"
echo "==> building the guest's kernel with $(nproc) CPUs (log: $log)"
make ARCH=um -j "$(nproc)" linux >> "$log" 2>&1 &
make_pid=$!
trap 'kill $make_pid 2>/dev/null; exit 1' INT TERM HUP
while kill -0 "$make_pid" 2>/dev/null; do
  sleep 5
  seconds=$((${seconds:-0} + 5))
  [ $((seconds % 60)) != 0 ] || echo "==> still building: $((seconds / 60)) min, $(grep -c '^  CC ' "$log") files compiled"
done
wait "$make_pid" || fail "the guest's kernel cannot be built"
cp .config "$folder/config"
strip linux
mv linux "$folder/linux"
