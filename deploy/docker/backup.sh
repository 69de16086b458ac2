#!/bin/sh
# Implements `./fleet backup` and `./fleet restore` for a fleet in containers (docs/operations.md#backup-and-restore).
#   backup.sh backup <folder of the caller> <file> [--member <name>]
#   backup.sh restore <folder of the caller> <file>
set -eu
cd "$(dirname "$0")/../.."
verb=$1
here=$2
shift 2

file=
member=
while [ $# -gt 0 ]; do
  case $verb:$1 in
    backup:--member) member=${2:?a name is missing after --member}; shift ;;
    backup:--member=*) member=${1#--member=} ;;
    *:-*) echo "fleet: unknown option '$1' for a fleet in containers" >&2; exit 2 ;;
    *) if [ -n "$file" ]; then echo "fleet: $verb takes the name of one file" >&2; exit 2; fi; file=$1 ;;
  esac
  shift
done
case $file in
  '') echo "fleet: $verb takes the name of one file" >&2; exit 2 ;;
  /*) ;;
  *) file=$here/$file ;;
esac

job() { docker compose run --rm --no-deps -T "$@" </dev/null; }
has_image() { docker image inspect "${FLEET_IMAGE:-hermes-fleet:local}" >/dev/null 2>&1; }

# Stops containers until `resume`, or until this script ends, however it ends: then the pipe closes. Its folder is also the
# lock, because a second backup would have the containers continue while the first one reads.
pause() {
  folder=.fleet/backup
  mkdir -p .fleet
  if ! mkdir "$folder" 2>/dev/null; then
    echo "fleet: a backup runs; if none does, remove $folder" >&2
    exit 1
  fi
  mkfifo "$folder/alive"
  # In a session of its own where setsid is there, so that what ends this script does not end it too. Each container by
  # itself: one that was not stopped yet must not keep the others from continuing.
  # shellcheck disable=SC2016,SC2086 # the inner shell expands; ids have no spaces
  $(command -v setsid || true) sh -c '
    trap "" INT TERM HUP
    folder=$1
    shift
    cat "$folder/alive" >/dev/null
    for container; do docker unpause "$container" >/dev/null 2>&1 || true; done
    if [ ! -e "$folder/done" ]; then
      # The engine may still be stopping one for a command that was killed.
      sleep 2
      for container; do docker unpause "$container" >/dev/null 2>&1 || true; done
    fi
    rm -r "$folder"' sh "$folder" $1 &
  guard=$!
  exec 9>"$folder/alive"
  # shellcheck disable=SC2086
  docker pause $1 >/dev/null
}
resume() {
  : >.fleet/backup/done
  exec 9>&-
  wait "$guard"
}

# The ids of the running containers that write what is backed up.
running_containers() {
  docker compose ps --status running --format '{{.ID}} {{.Service}}' | while read -r id service; do
    case $service in prometheus | grafana | welcome) continue ;; esac
    case $member in '' | "$service") echo "$id" ;; esac
  done
}

back_up() {
  for name in "$file" "$file.partial"; do
    if [ -e "$name" ]; then echo "fleet: $name exists: name another file, or remove it" >&2; exit 1; fi
  done
  running=$(running_containers)
  if [ -n "$(docker compose ps --status paused --quiet)" ]; then
    echo "fleet: containers are paused, as during a backup: wait for it, or docker compose unpause" >&2
    exit 1
  fi
  trap 'rm -f "$file.partial"' EXIT
  umask 077
  begun=$(date +%s)
  if [ -n "$running" ]; then pause "$running"; fi
  job backup backup - --dir /fleet ${member:+--member "$member"} >"$file.partial" 9>&-
  if [ -n "$running" ]; then
    paused=$(docker compose ps --status paused --quiet | wc -l)
    resume
    if [ "$paused" -ne "$(echo "$running" | wc -l)" ]; then
      echo "fleet: a container was continued during the backup: try again" >&2
      exit 1
    fi
  fi
  mv "$file.partial" "$file"
  echo "$file: $((($(wc -c <"$file") + 999) / 1000)) kB$([ -z "$running" ] || echo "; the fleet stood still for $(($(date +%s) - begun)) s")"
  echo "it holds the keys and the content of all tasks: keep it where only you can read it"
}

restore() {
  if [ ! -f "$file" ]; then echo "fleet: there is no file $file" >&2; exit 1; fi
  if [ -n "$(docker compose ps --quiet)" ]; then echo "fleet: the fleet runs: stop it first (make down)" >&2; exit 1; fi
  sh deploy/docker/preflight.sh up || exit 1
  job --volume "$file:/backup.tar.zst:ro" backup restore /backup.tar.zst --dir /fleet
}

has_image || docker compose build --quiet keys
case $verb in backup) back_up ;; restore) restore ;; esac
