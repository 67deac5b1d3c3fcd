#!/bin/sh
# Runs in the guest, as guest-agent.service: executes the commands that the host sends over the serial line, several at once.
# The host's line is `<id> <seconds>`; the command is the file <id>.cmd in the exchange folder, and its results are put beside it.
# The answer is `done <id>`, after the files are complete.
set -u
exchange=/run/exchange
line=/dev/ttyS0
folder=$(sed -n 's/.*guest\.exchange=\([^ ]*\).*/\1/p' /proc/cmdline)
mkdir -p "$exchange"
mount -t hostfs none "$exchange" -o "$folder" || exit 1
# Shared folders have the same path as on the host.
while read -r mode path; do
  mkdir -p "$path"
  mount -t hostfs -o "$mode" none "$path" -o "$path" || echo "cannot mount $path" >> "$exchange/problems"
done < "$exchange/shares"
stty -F "$line" raw -echo
exec 3<>"$line"
execute() { # execute ID SECONDS
  # The agent must survive memory pressure. What a test runs must not.
  echo 0 > /proc/self/oom_score_adj
  cd /root || exit 1
  timeout -s KILL "$2" sh "$exchange/$1.cmd" > "$exchange/$1.out" 2> "$exchange/$1.err" 3>&- < /dev/null
  echo $? > "$exchange/$1.code"
  echo "done $1" >&3
}
echo ready >&3
while read -r id seconds <&3; do
  execute "$id" "$seconds" &
done
