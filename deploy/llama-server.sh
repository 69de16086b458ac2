#!/usr/bin/env bash
# Installs llama.cpp's llama-server into .cache/llama-server, where a test looks for it: about 30 MB of Debian unstable's packages,
# from the mirror of this system, verified by apt. The server has its libraries beside it, and the system stays as it is. If
# the installation fails, the test is skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.cache/llama-server
if [ -x "$folder/llama-server" ]; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
  # The address of a mirror may have a password.
  tail -n 3 "$work/log" | sed -E 's#://[^/ ]*@#://#g' >&2
  echo "llama-server could not be installed: $1: its test will be skipped" >&2
  rm -rf "$folder"
  exit 0
}
exec 3>"$work/log"
for command in apt-get dpkg-deb; do
  command -v "$command" >/dev/null 2>&1 || skip "there is no $command"
done
keyring=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' 2>/dev/null | sort | head -n 1)
[ -n "$keyring" ] || skip "there is no keyring of Debian"
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
  sed -n -E 's@^(URIs:|deb( \[[^]]*\])?) +([^ ]+/debian/?)( .*)?$@\3@p' | head -n 1)
[ -n "$mirror" ] || skip "apt has no mirror of Debian"

mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$folder"
touch "$work/status"
echo "deb [signed-by=$keyring] $mirror sid main" >"$work/sources.list"
# Both calls end within 300 s.
apt() {
  [ "$SECONDS" -lt 300 ] || return 1
  timeout $((300 - SECONDS)) apt-get -qq -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null "$@" >&3 2>&3
}
apt update || skip "apt did not reach its mirror"
apt install -y --download-only --no-install-recommends llama.cpp-tools || skip "apt did not load llama.cpp-tools"
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$folder" 2>&3 || skip "dpkg-deb did not unpack $(basename "$package")"
done

# The server looks for the code that fits the processor in the folder that it runs in.
cat >"$folder/llama-server" <<'END'
#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)
libraries=$(dirname "$root"/usr/lib/*/llama)
cd "$libraries/ggml"/backends* &&
  exec "$libraries"/ld-linux-*.so.* --library-path "$libraries:$libraries/llama" "$root/usr/bin/llama-server" "$@"
END
chmod +x "$folder/llama-server"
"$folder/llama-server" --version >&3 2>&3 || skip "it does not start"
rm -rf "$folder/etc" "$folder/var" "$folder/usr/share"
grep '^version' "$work/log" | sed 's/^/llama-server /'
