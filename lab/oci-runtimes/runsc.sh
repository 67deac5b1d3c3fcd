#!/bin/sh
# gVisor, as containerd calls runc. RUNTIMES is the folder of fetch.sh. Debian has no shim of gVisor, and that of runc expects a process of the host for each
# container: here it waits for the container. gVisor's processes are all in the cgroup of the sandbox, and those of its containers are empty.
set -u
runsc() {
  # The kernel of the sandbox has no network of its own: it takes a recent kernel's network namespace of a pod for the host's.
  "$RUNTIMES/usr/bin/runsc" --platform=systrap --network=host "$@"
}
root='' log='' pidfile='' command='' id=''
for argument in "$@"; do
  case "$id" in
  --root) root=$argument ;;
  --log) log=$argument ;;
  --pid-file) pidfile=$argument ;;
  esac
  case "$argument" in create | start | kill) command=${command:-$argument} ;; esac
  id=$argument
done
# The shim puts its log beside the container's configuration.
bundle=${log%/*}
isInSandbox() { grep -q '"io.kubernetes.cri.container-type":"container"' "$bundle/config.json"; }
valueOf() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$bundle/config.json"; }

# It has the standard streams of the container, which gVisor takes at the start. It is measured as the container by the runtime, so it is in the cgroup of
# the sandbox. It exits as the container.
waitForContainer() {
  own=$(valueOf cgroupsPath)
  sandbox=${own%/*}/$(valueOf io.kubernetes.cri.sandbox-id)
  for procs in /sys/fs/cgroup"$sandbox"/cgroup.procs /sys/fs/cgroup/*"$sandbox"/cgroup.procs; do
    [ ! -e "$procs" ] || echo 0 > "$procs"
  done
  : > "$bundle/waiting"
  until [ -e "$bundle/start" ]; do
    [ -d "$bundle" ] || exit 1
    sleep 0.1
  done
  runsc --root "$root" --log "$log" --log-format json start "$id"
  echo $? > "$bundle/started.part"
  mv "$bundle/started.part" "$bundle/started"
  exec < /dev/null > /dev/null 2>&1
  code=$(runsc --root "$root" wait "$id" | sed -n 's/.*"exitStatus":\([0-9]*\).*/\1/p')
  exit "${code:-255}"
}

if [ "$command" = create ] && isInSandbox; then
  runsc "$@" || exit
  waitForContainer &
  printf %s "$!" > "$pidfile"
  until [ -e "$bundle/waiting" ]; do sleep 0.05; done
elif [ "$command" = start ] && isInSandbox; then
  : > "$bundle/start"
  until [ -e "$bundle/started" ]; do sleep 0.05; done
  exit "$(cat "$bundle/started")"
elif [ "$command" = kill ]; then
  message=$(runsc "$@" 2>&1)
  status=$?
  # The shim knows the words of runc.
  case "$message" in *'not running'*) message='container not running' ;; esac
  [ -z "$message" ] || echo "$message" >&2
  exit $status
else
  runsc "$@"
fi
