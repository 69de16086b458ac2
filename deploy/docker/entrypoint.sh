#!/bin/sh
# Started as root with SETUID, SETGID and KILL alone: becomes uid 1000 and keeps those three (as ambient capabilities),
# so that the gateway can run commands as uid 1001 and end them. Started as anybody else: runs the command as it is.
set -eu
umask 0007
if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
caps=+setuid,+setgid,+kill
export HOME=/home/node
exec setpriv --reuid 1000 --regid 1000 --groups 1000,1001 --inh-caps "$caps" --ambient-caps "$caps" -- "$@"
