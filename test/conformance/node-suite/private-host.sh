#!/bin/sh
# Runs a command as on a host of its own, as upstream's node suite expects one: fixed folders, the root of all cgroups, all processes, a systemd.
# Its network namespace is the caller's. Needs root and cgroup v1. All of it ends with the command; the cgroup remains.
#
#   sh private-host.sh FOLDER COMMAND...
set -eu
tools=$(dirname "$(readlink -f "$0")")/host-tools
if [ "$1" != --inside ]; then
  folder=$1
  shift
  name=$(basename "$folder")
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo 'the node suite needs a host with cgroup v1' >&2
    exit 1
  fi
  # A cgroup namespace starts at the cgroups of the process that creates it.
  for hierarchy in /sys/fs/cgroup/*/; do
    mkdir -p "$hierarchy$name"
    # A new cpuset has no CPUs, and takes no process.
    for setting in cpuset.cpus cpuset.mems; do
      if [ -e "$hierarchy$setting" ]; then cat "$hierarchy$setting" >"$hierarchy$name/$setting"; fi
    done
    echo $$ >"$hierarchy$name/cgroup.procs"
  done
  exec unshare --mount --propagation private --uts --ipc --cgroup --pid --fork --kill-child sh "$0" --inside "$folder" "$@"
fi

folder=$2
shift 2
hostname "$(basename "$folder")"
mount -t proc proc /proc
# The mounts of the caller show the host's root. Other programs take the first mount of a hierarchy, so none may stay below.
grep ' /sys/fs/cgroup/[^ ]* cgroup2\? ' /proc/self/mounts | while read -r _ point type options _; do
  umount "$point"
  if [ "$type" = cgroup ]; then mount -t cgroup -o "$(echo "$options" | sed 's/^rw,//; s/relatime,//')" cgroup "$point"; else mount -t "$type" "$type" "$point"; fi
done
mount -t tmpfs tmpfs /run
mkdir /run/systemd /run/systemd/system /run/lock
for path in /var/lib/kubelet /var/log; do
  mkdir -p "$folder$path" "$path"
  mount --bind "$folder$path" "$path"
done
mkdir -p /var/log/pods /var/log/containers
# As systemd does: mounts of volumes reach containers with mount propagation.
mount --make-rshared /
export PATH="$tools:$PATH"
exec catatonit -- "$@"
