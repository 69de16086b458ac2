#!/usr/bin/env bash
# Installs the system packages that the fleet needs outside containers: as root on Debian and its derivatives. Elsewhere it
# prints what to install and changes nothing.
#
#   deploy/system-packages.sh               packages for a fleet of plain processes
#   deploy/system-packages.sh --tests       and those for make test
#   deploy/system-packages.sh --all-tests   and those for make test-all
set -euo pipefail
# Servers are rarely on the PATH of a user other than root.
PATH=$PATH:/usr/local/sbin:/usr/sbin

# <command>:<package>. Not an associative array: bash 3.2, which macOS ships, has none.
wanted=(git:git bwrap:bubblewrap)
if [ "${1:-}" = --tests ] || [ "${1:-}" = --all-tests ]; then
  wanted+=(nats-server:nats-server promtool:prometheus curl:curl chromium:chromium)
  [ "$1" = --tests ] || wanted+=(python3:python3 nginx:nginx caddy:caddy)
elif [ -z "${NATS_SERVER_BIN:-}" ]; then
  wanted+=(nats-server:nats-server)
fi

missing=()
for pair in "${wanted[@]}"; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=("${pair#*:}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  log=$(mktemp)
  if ! { apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    echo "could not install ${missing[*]}: install them by hand, then try again" >&2
    exit 1
  fi
  rm -f "$log"
else
  echo "not installed: ${missing[*]}. Install them with this system's package manager." >&2
fi
