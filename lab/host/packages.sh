#!/bin/sh
# Installs missing Debian packages that a real runtime needs.
# With --with-guest: also those that build the guest's kernel and disk image.
# With --modules-only: only those that Node needs. With --for-go: only those for fetching and running Go. With --for-guest: only those of the guest.
set -eu
missing=''
need() { # need PACKAGE FILE: the package is installed if the file exists
  [ -e "$2" ] || missing="$missing $1"
}
need_for_runtime() {
  need containerd /usr/bin/containerd
  need runc /usr/sbin/runc
  need containernetworking-plugins /usr/lib/cni/bridge
  need iptables /usr/sbin/iptables
  need iproute2 /usr/sbin/ip
  need busybox-static /bin/busybox
  need catatonit /usr/bin/catatonit
  need umoci /usr/bin/umoci
  need openssl /usr/bin/openssl
  need docker-registry /usr/bin/docker-registry
}
need_for_guest() {
  need bc /usr/bin/bc
  need bison /usr/bin/bison
  need e2fsprogs /sbin/mkfs.ext4
  need flex /usr/bin/flex
  need gcc /usr/bin/gcc
  need libc6-dev /usr/include/stdio.h
  need make /usr/bin/make
  need mmdebstrap /usr/bin/mmdebstrap
  need xz-utils /usr/bin/xz
}
case "$(uname -m)" in
  x86_64) need libatomic1 /usr/lib/x86_64-linux-gnu/libatomic.so.1 ;;
  aarch64) need libatomic1 /usr/lib/aarch64-linux-gnu/libatomic.so.1 ;;
esac
case "${1:-}" in
--modules-only) ;;
--for-go)
  need ca-certificates /etc/ssl/certs/ca-certificates.crt
  need unzip /usr/bin/unzip
  ;;
--for-guest) need_for_guest ;;
--with-guest)
  need_for_runtime
  need_for_guest
  ;;
*) need_for_runtime ;;
esac
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "missing Debian packages:$missing. Install them, or run this as root" >&2
  exit 1
fi
# Two builds of the guest may start at the same time.
exec 9> /run/kubelet-ts-packages.lock
flock 9
echo "==> installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# Keeps the installed packages from starting services, such as the host's containerd.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy" "$log"' EXIT
else
  trap 'rm -f "$log"' EXIT
fi
install() {
  # shellcheck disable=SC2086
  apt-get install -y -q --no-install-recommends $missing > "$log" 2>&1
}
if ! install; then
  echo "==> refreshing the package lists (apt-get update)"
  apt-get update -q > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
  install || { cat "$log" >&2; exit 1; }
fi
