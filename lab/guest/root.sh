#!/bin/sh
# Builds the disk image of the guest: Debian 12 with systemd, cgroup v2 and containerd.
#   root.sh FOLDER
# FOLDER/root.img is the result, 8 GB of which 500 MB are in use. Does nothing when it exists. Takes 25 seconds of one CPU, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)
# Builds that start at the same time wait for each other.
exec 9> "$folder/lock"
flock 9
[ ! -e "$folder/root.img" ] || exit 0
# Of a build that was killed. mmdebstrap mounts in a namespace of its own.
rm -rf --one-file-system "$folder"/build.*
log=$folder/root.log
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
root=$work/root
. "$here/debian.sh"
mirror=$(debian_mirror)
[ -n "$mirror" ] || { echo 'no Debian mirror in /etc/apt/sources.list*: the guest is made of Debian packages' >&2; exit 1; }
packages=systemd,systemd-sysv,dbus,containerd,runc,iptables,procps,iproute2,busybox-static,ca-certificates,libatomic1
packages=$packages,containernetworking-plugins,kmod,util-linux,e2fsprogs,apparmor
echo "==> installing the guest's Debian (log: $log)"
if ! mmdebstrap --variant=minbase --include=$packages --aptopt='Acquire::Languages "none"' bookworm "$root" "$mirror" > "$log" 2>&1; then
  tail -n 5 "$log" >&2
  exit 1
fi
rm -rf "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/locale
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
systemctl --root="$root" -q enable guest-agent.service
# containerd and the timers of a server would run beside the tests.
systemctl --root="$root" -q disable containerd.service
systemctl --root="$root" -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
  systemd-tmpfiles-clean.timer e2scrub_reap.service systemd-update-utmp.service
# A fifth of a boot's CPU time: modules that do not exist, a terminal that nobody sees, and profiles of programs that the guest does not have.
# containerd loads its own profile.
systemctl --root="$root" -q mask 'modprobe@.service' systemd-modules-load.service getty.target apparmor.service
truncate -s 8G "$work/root.img"
mkfs.ext4 -q -F -d "$root" -O quota,project -E lazy_itable_init=1,lazy_journal_init=1 "$work/root.img"
mv "$work/root.img" "$folder/root.img"
