#!/bin/sh
# As root, which has only the capabilities SETUID, SETGID and KILL: becomes uid 1000 and keeps the three as ambient
# capabilities, so that the gateway can run commands as other users, join their groups, and end them. The folders that all
# commands share are the gateway's, so that it can empty them; commands cannot list them, and Docker would let them.
# As any other user: runs the command.
set -eu
umask 0007
if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
caps=+setuid,+setgid,+kill
export HOME=/home/node
close='for folder in /tmp /dev/shm; do if [ -O "$folder" ]; then chmod 1733 "$folder"; fi; done; exec "$@"'
exec setpriv --reuid 1000 --regid 1000 --groups 1000,1001 --inh-caps "$caps" --ambient-caps "$caps" -- \
  sh -c "$close" sh "$@"
