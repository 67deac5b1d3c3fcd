#!/bin/sh
# crun, as containerd calls runc. RUNTIMES is the folder of fetch.sh.
# On a host with cgroup v1, crun refuses to run while the v2 hierarchy beside it has controllers that v1 does not use: it does not see that hierarchy.
# What is mounted on the host later still appears in containers.
set -eu
if [ -d /sys/fs/cgroup/unified ]; then
  exec unshare --mount --propagation slave sh -c 'umount -l /sys/fs/cgroup/unified && exec "$@"' sh "$RUNTIMES/usr/bin/crun" "$@"
fi
exec "$RUNTIMES/usr/bin/crun" "$@"
