#!/bin/sh
# Runs the fleet command in the image, for a host with Docker and without Node.js (docs/cli.md#without-nodejs): as the caller, with
# the checkout and the caller's folder, which is the top of its git repository. What the command needs of the host, above all
# docker, it asks for by files in a folder that both see (libs/cli/src/containers/host-requests.ts).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)

# Compose in a folder, with the settings of the checkout and of the fleet.
compose() {
  (cd "$1" && shift && for file in "$FLEET_FOLDER/.env.local" "$root/.env"; do
    [ ! -e "$file" ] || set -- --env-file "$file" "$@"
  done && docker compose "$@" </dev/null)
}
FLEET_IMAGE=$(compose "$root" config --images keys)
export FLEET_IMAGE

# Runs a program for the command. The file has folder, variables, name and arguments, one a line, as printf %b reads them.
answer() {
  call=$1
  set --
  while IFS= read -r line; do word=$(printf '%b.' "$line"); set -- "$@" "${word%.}"; done <"$call.taken"
  cd "$1" && shift
  env "$@" <"$call.in" >"$call.out" 2>"$call.err" &
  echo $! >"$call.pid"
  wait $!
  echo $? >"$call.ended"
  rm "$call.pid"
  mv "$call.ended" "$call.code"
}

# Answers until the command has ended, however it did; then does what the command left for its end.
serve() {
  while kill -0 $$; do
    for call in "$requests"/*.call; do
      [ -e "$call" ] || continue
      mv "$call" "${call%.call}.taken"
      answer "${call%.call}" &
    done
    : >"$requests/alive"
    sleep 0.1
  done
  cat "$requests"/*.pid | xargs kill
  for last in "$requests"/*.last; do
    [ -e "$last" ] || continue
    mv "$last" "${last%.last}.taken"
    answer "${last%.last}"
  done
  # The client of docker may have been killed.
  docker rm --force "$(cat "$requests/id")"
  rm -r "$requests"
}

if ! docker image inspect "$FLEET_IMAGE" >/dev/null 2>&1; then
  echo "there is no Node.js here: building the image in which the command runs, once" >&2
  compose "$root" build keys >&2
elif [ "${1:-}" = up ]; then
  # The program that starts the fleet is the checkout's.
  compose "$root" build --quiet keys >&2
fi
switch=$(compose "$FLEET_FOLDER" ps --status running --quiet switch 2>/dev/null) || switch=
requests=$(cd "$(mktemp -d)" && pwd -P)
git config --type=path --get core.excludesFile >"$requests/ignore" 2>/dev/null ||
  echo "${XDG_CONFIG_HOME:-${HOME:-}/.config}/git/ignore" >"$requests/ignore"
ignored=$(cat "$requests/ignore")
cat "$ignored" >"$requests/ignore" 2>/dev/null || :
# Signals of the terminal are for the command.
(set +e; trap : HUP TERM; serve) </dev/null >/dev/null 2>&1 &

terminal=-i
if [ -t 0 ] && [ -t 1 ]; then terminal=-it; fi
# What follows in a pipe is not for it.
case ${1:-} in token) exec </dev/null ;; esac
here=$(pwd -P)
top=$here
while [ "$top" != / ] && [ ! -e "$top/.git" ]; do top=$(dirname "$top"); done
[ "$top" != / ] || top=$here
# A working tree of git may have its repository elsewhere.
repository=$(sed -n 's|^gitdir: \(/.*/\.git\)/.*|\1|p' "$top/.git" 2>/dev/null) || repository=
set -- --entrypoint fleet "$FLEET_IMAGE" "$@"
# Root reads the files of others, as on the host.
[ "$(id -u)" != 0 ] || set -- --cap-add DAC_OVERRIDE "$@"
mounted=:
for folder in "$root" "$FLEET_FOLDER" "$top" "$repository"; do
  # Not over the image's own folders.
  case $folder in '' | / | /app | /bin | /dev | /etc | /lib* | /proc | /run | /sbin | /sys | /usr) continue ;; esac
  case $mounted in *":$folder:"*) continue ;; esac
  mounted=$mounted$folder:
  set -- --volume "$folder:$folder" "$@"
done
# shellcheck disable=SC2046 # names of variables have no spaces
exec docker run --rm --init "$terminal" --cidfile "$requests/id" --read-only --tmpfs /run:mode=1777 \
  --cap-drop ALL --security-opt no-new-privileges --network "${switch:+container:}${switch:-bridge}" \
  --user "$(id -u):$(id -g)" --workdir "$here" --volume "$requests:$requests" \
  $(env | grep -Ev '^((PATH|HOME|TMPDIR)=|NODE_|LD_)' | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/-e \1/p') \
  -e HOME=/run -e TMPDIR=/run -e FLEET_DOCKER_REQUESTS="$requests" -e FLEET_MOUNTED="$mounted" \
  -e GIT_CONFIG_COUNT=1 -e GIT_CONFIG_KEY_0=core.excludesFile -e GIT_CONFIG_VALUE_0="$requests/ignore" "$@"
