#!/bin/sh
# Prints who has a TCP port of 127.0.0.1, to follow the words "in use by": port-owner.sh 9219. Exits with 1, and prints
# nothing, where it finds nobody. It needs no program besides those of every Linux or macOS, and changes nothing.
set -eu
port=$1

# A container that publishes the port, with the checkout whose Compose file made it.
container() {
  docker ps --filter "publish=$port" --format '{{.Ports}};{{.Names}};{{.Label "com.docker.compose.project.working_dir"}}' 2>/dev/null |
    while IFS=';' read -r ports name checkout; do
      case ", $ports" in *", 127.0.0.1:$port->"* | *", 0.0.0.0:$port->"* | *:::"$port->"* | *"]:$port->"*) ;; *) continue ;; esac
      echo "the container $name${checkout:+ of $checkout}"
      break
    done
}

# The uid and the inode of the socket that listens on the port, from the kernel's tables of this network namespace.
socket() {
  at=$(printf %04X "$port")
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ local _ state _ _ _ uid _ inode _; do
    case $local:$state in
      0100007F:"$at":0A | 00000000:"$at":0A | 00000000000000000000000000000000:"$at":0A | 0000000000000000FFFF00000100007F:"$at":0A)
        echo "$uid $inode"
        break
        ;;
    esac
  done
}

# Without root, only processes of the own user show their sockets.
linux() {
  found=$(socket)
  [ -n "$found" ] || return 0
  fd=$(find /proc/[0-9]*/fd -lname "socket:\[${found#* }\]" 2>/dev/null | head -n 1) || true
  if [ -z "$fd" ]; then echo "a process of the user $(id -nu "${found% *}" 2>/dev/null || echo "${found% *}")"; return; fi
  process=${fd%/fd/*}
  program=$(readlink "$process/exe" || cat "$process/comm")
  echo "${program##*/} (pid ${process#/proc/}) in $(readlink "$process/cwd" || echo another folder)"
}

macos() {
  pid=$(lsof -nP -t -iTCP:"$port" -sTCP:LISTEN 2>/dev/null | head -n 1) || true
  if [ -n "$pid" ]; then echo "$(ps -o comm= -p "$pid") (pid $pid)"; fi
}

owner=
if command -v docker >/dev/null 2>&1; then owner=$(container); fi
if [ -z "$owner" ] && [ -r /proc/net/tcp ]; then owner=$(linux); elif [ -z "$owner" ]; then owner=$(macos); fi
[ -n "$owner" ] || exit 1
echo "$owner"
