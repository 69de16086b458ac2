#!/bin/sh
# What `./fleet up` and `./fleet down` check before they change containers (docs/operations.md#several-checkouts). Exits with
# 1 after saying on stderr what is wrong and the way out; nothing has changed then.
#   preflight.sh up     the Compose project is of this checkout, which is recorded, and the ports are free
#   preflight.sh down   the Compose project is of this checkout
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd -P)
config=$(COMPOSE_PROFILES=grafana docker compose config)
project=$(printf '%s\n' "$config" | sed -n 's/^name: //p')
# Compose itself says why it cannot read its file.
[ -n "$project" ] || exit 0
# Volumes do not say which checkout made them, and they outlive the containers. This one, which stays empty, has a label.
record=${project}_checkout
label=hermes-fleet.checkout

# A line `service port` for every port that is published on this machine.
published() {
  printf '%s\n' "$config" | awk '
    /^[a-z]/ { inside = $1 == "services:" }
    inside && /^  [A-Za-z0-9_-]+:$/ { service = substr($1, 1, length($1) - 1) }
    inside && $1 == "published:" { gsub(/"/, "", $2); if ($2 != "0") print service, $2 }'
}

variable() { echo "$(echo "$1" | tr 'a-z-' 'A-Z_')_PORT"; }

# The folders of the checkouts whose containers or volumes the project has.
checkouts() {
  docker ps --all --filter "label=com.docker.compose.project=$project" --format '{{.Label "com.docker.compose.project.working_dir"}}'
  if [ -n "$(docker volume ls --quiet --filter "label=com.docker.compose.project=$project")" ]; then recorded; fi
}
recorded() { docker volume inspect --format "{{index .Labels \"$label\"}}" "$record" 2>/dev/null || true; }

# Prints the folder of another checkout that has the project. One that is gone, or was moved, has nothing to lose.
other_checkout() {
  checkouts | sort -u | while read -r folder; do
    [ -f "$folder/docker-compose.yml" ] || continue
    if [ "$(cd "$folder" && pwd -P)" != "$root" ]; then echo "$folder"; break; fi
  done
}

refuse_others() {
  other=$(other_checkout)
  [ -n "$other" ] || return 0
  echo "the containers and volumes of the Compose project $project are of the checkout $other, not of this one"
  if [ "$1" = down ]; then echo "to stop them: make -C '$other' down"; return 1; fi
  own=$project-$(basename "$root" | tr 'A-Z' 'a-z' | tr -cd 'a-z0-9_-')
  echo "for a fleet of its own beside that one, add these lines to .env.local, and make up again:"
  echo
  echo "COMPOSE_PROJECT_NAME=$own"
  echo "FLEET_IMAGE=$own:local"
  published | while read -r service port; do echo "$(variable "$service")=$((port + 1000))"; done
  echo
  echo "to give them to this checkout instead: make -C '$other' down && docker volume rm $record"
  return 1
}

record_checkout() {
  [ "$(recorded)" != "$root" ] || return 0
  docker volume rm --force "$record" >/dev/null
  docker volume create --label "$label=$root" "$record" >/dev/null
}

# The fleet runs without the console and Grafana where they do not start.
check_ports() {
  taken=$(published | while read -r service port; do
    if [ -n "$(docker ps --quiet --filter "publish=$port" --filter "label=com.docker.compose.project=$project")" ]; then continue; fi
    owner=$(sh deploy/port-owner.sh "$port") || continue
    case $service in console | grafana) without=", so the fleet runs without it" ;; *) without= ;; esac
    echo "port $port of $service is in use by $owner$without; $(variable "$service")=$((port + 1000)) gives it another"
  done)
  [ -n "$taken" ] || return 0
  echo "$taken"
  if [ -z "$(echo "$taken" | grep -v ', so the fleet runs without it; ')" ]; then return 0; fi
  echo "nothing was started: stop what has the port, or set the variable, in .env.local or for one command: $(
    echo "$taken" | sed -n '/, so the fleet runs without it; /!s/.*; \([A-Z_]*_PORT=[0-9]*\) gives.*/\1/p' | tr '\n' ' ')make up"
  return 1
}

refuse_others "$1" >&2
[ "$1" = up ] || exit 0
check_ports >&2
record_checkout
