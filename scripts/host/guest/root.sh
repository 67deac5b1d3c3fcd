#!/bin/sh
# Builds the disk image of the guest: Debian 12 with systemd, cgroup v2 and containerd.
#   root.sh FOLDER
# FOLDER/root.img is the result, 8 GB of which 500 MB are in use. Does nothing when it exists for this script and agent.sh. Takes a minute, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
exec 9> "$folder/lock"
flock 9
wanted=$(cat "$here/root.sh" "$here/agent.sh" | sha256sum)
[ ! -e "$folder/root.img" ] || [ "$(cat "$folder/sum" 2>/dev/null)" != "$wanted" ] || exit 0
. "$here/reuse.sh"
! reuse guest-root root.img || exit 0
work=$(mktemp -d "$folder/build.XXXXXX")
root=$work/root
# debootstrap mounts these while it runs, and leaves them when it is killed.
clean_up() {
  for mount in dev/pts dev sys proc; do ! mountpoint -q "$root/$mount" || umount -l "$root/$mount"; done
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP
. "$here/debian.sh"
mirror=$(debian_mirror)
[ -n "$mirror" ] || { echo 'no Debian mirror in /etc/apt/sources.list*: the guest is made of Debian packages' >&2; exit 1; }
packages=systemd,systemd-sysv,dbus,containerd,runc,iptables,procps,iproute2,busybox-static,ca-certificates,libatomic1
packages=$packages,containernetworking-plugins,kmod,util-linux,e2fsprogs
echo "==> installing the guest's Debian (log: $folder/debootstrap.log)"
if ! debootstrap --variant=minbase --include=$packages bookworm "$root" "$mirror" > "$folder/debootstrap.log" 2>&1; then
  tail -n 5 "$folder/debootstrap.log" >&2
  exit 1
fi
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc "$root"/usr/share/locale
echo guest > "$root/etc/hostname"
echo '127.0.0.1 localhost guest' > "$root/etc/hosts"
: > "$root/etc/machine-id"
install -m 755 "$here/agent.sh" "$root/usr/local/sbin/guest-agent"
cat > "$root/etc/systemd/system/guest-agent.service" <<'UNIT'
[Unit]
Description=Commands from the host
Requires=dbus.socket
After=dbus.socket

[Service]
ExecStart=/usr/local/sbin/guest-agent
# A command may leave a process behind.
KillMode=process
OOMScoreAdjust=-1000
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

[Install]
WantedBy=multi-user.target
UNIT
# containerd and the timers of a server would run beside the tests.
systemctl --root="$root" -q enable guest-agent.service
systemctl --root="$root" -q disable containerd.service
systemctl --root="$root" -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
  e2scrub_reap.service systemd-update-utmp.service
truncate -s 8G "$folder/root.img.part"
mkfs.ext4 -q -F -d "$root" -O quota,project -E lazy_itable_init=1,lazy_journal_init=1 "$folder/root.img.part"
mv "$folder/root.img.part" "$folder/root.img"
echo "$wanted" > "$folder/sum"
