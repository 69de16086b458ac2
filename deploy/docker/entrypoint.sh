#!/bin/sh
# As root, which has only the capabilities SETUID, SETGID and KILL: becomes uid 1000 and keeps the three as ambient
# capabilities, so that the gateway can run commands as uid 1001 and kill them. As any other user: runs the command.
set -eu
umask 0007
if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
caps=+setuid,+setgid,+kill
export HOME=/home/node
exec setpriv --reuid 1000 --regid 1000 --groups 1000,1001 --inh-caps "$caps" --ambient-caps "$caps" -- "$@"
