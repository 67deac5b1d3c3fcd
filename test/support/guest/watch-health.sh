#!/bin/bash
# Runs in a guest: appends a line for each answer of /healthz to a file. Starts no process once it runs, since it must not depend on free memory.
#   watch-health.sh FILE
mkfifo "/run/never-$$" && exec 4<> "/run/never-$$"
while :; do
  answer='no connection'
  { printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3; IFS= read -r -t 30 answer <&3; } 2> /dev/null 3<> /dev/tcp/127.0.0.1/10248
  echo "$EPOCHSECONDS ${answer%%$'\r'*}" >> "$1"
  read -r -t 1 _ <&4
done
