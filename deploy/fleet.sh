#!/bin/sh
# What `make up|down|logs|ps|token|demo|route|peers|trader|doctor` do: the fleet in containers where a Docker engine answers, else as plain processes.
# FLEET_MODE=docker|process forces one; a fleet that is up keeps its mode until it is taken down.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
marker=.fleet/mode

has_engine() {
  docker version --format '{{.Server.Version}}' >/dev/null 2>&1 && docker compose version >/dev/null 2>&1
}

# What the fleet that is up runs as; nothing when none is. An `up` that started nothing leaves no mode behind.
kept_mode() {
  case $(cat "$marker" 2>/dev/null) in
    docker) echo docker ;;
    process)
      # Another user's records can't be seen: then the mode stands, and the command says what it may not do.
      if [ -d .fleet/run ] && [ ! -r .fleet/run ]; then echo process; return; fi
      for record in .fleet/run/*.json; do if [ -f "$record" ]; then echo process; break; fi; done
      ;;
  esac
}

mode() {
  case ${FLEET_MODE:-} in
    docker | process) echo "$FLEET_MODE" ;;
    '') kept=$(kept_mode); if [ -n "$kept" ]; then echo "$kept"; elif has_engine; then echo docker; else echo process; fi ;;
    *) echo "FLEET_MODE must be docker or process, not \"$FLEET_MODE\"" >&2; exit 2 ;;
  esac
}

remember() {
  mkdir -p .fleet
  chmod 711 .fleet
  echo "$1" >"$marker"
}

# The pinned Node of this repository, installed by npm on any Node.
fleet() {
  if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error >&2
  fi
  PATH="$root/node_modules/.bin:$PATH" node libs/cli/src/main.ts "$@"
}

# Where a service is published on this machine; nothing when it is not.
address() {
  published=$(docker compose port "$1" "$2" 2>/dev/null) || return 0
  [ -z "$published" ] || printf -- '--address %s=http://%s ' "$1" "$published"
}

# One checkout is one fleet: the other one would fight it over the ports, and `down` would forget it.
not_both() {
  kept=$(kept_mode)
  case $kept in "$1" | '') return 0 ;; esac
  if [ "$kept" = docker ] && { ! has_engine || [ -z "$(COMPOSE_PROFILES=grafana docker compose ps --all --quiet)" ]; }; then return 0; fi
  echo "the fleet is up already, as FLEET_MODE=$kept: FLEET_MODE=$kept make down ends it" >&2
  exit 1
}

up_docker() {
  if ! has_engine; then
    if [ "${FLEET_MODE:-}" = docker ]; then echo "FLEET_MODE=docker, and no Docker engine with Compose answers" >&2
    else echo "the fleet was started in containers, and no Docker engine with Compose answers now: start it, or FLEET_MODE=process make up" >&2; fi
    exit 1
  fi
  not_both docker
  echo "starting the fleet in containers"
  remember docker
  readable
  renew_nats
  COMPOSE_PROFILES='' docker compose up --build --detach --wait || { not_up >&2; exit 1; }
  grafana
  # shellcheck disable=SC2046 # addresses have no spaces
  docker compose exec -T -u 1000 switch node libs/cli/src/main.ts first-flight --root "$root" --settle http://127.0.0.1:9219 \
    $(address switch 9219) $(address neo 9220) $(address morpheus 9221) $(address trinity 9222) \
    $(address trader 9223) $(address prometheus 9090) $(COMPOSE_PROFILES=grafana address grafana 3000)
}

# Other users read these files through the mounts, also where a strict umask made them for their owner alone.
readable() {
  find deploy/profiles deploy/trader deploy/prometheus deploy/grafana \( -name state -o -name workspace \) -prune \
    -o ! -perm -o=r -exec chmod a+rX {} +
}

# A service that an older fleet did not have is a user that its NATS, which goes on running, does not know yet.
renew_nats() {
  [ -n "$(docker compose ps --status running --quiet nats 2>/dev/null)" ] || return 0
  docker compose run --build --rm --no-deps -T keys init && docker compose kill --signal HUP nats
}

# After an `up` that failed: who is to blame, with the end of his log.
not_up() {
  docker compose ps --all --format '{{.Service}}:{{.State}}:{{.Health}}:{{.ExitCode}}' | while IFS=: read -r service state health code; do
    case $state:$health:$code in running:healthy:* | running::* | exited::0) continue ;; esac
    if [ "$state" = created ]; then echo "$service was not started"; continue; fi
    echo "$service is $state${health:+, $health}, exit code $code; the end of its log:"
    docker compose logs --tail 20 --no-color --no-log-prefix "$service" </dev/null
  done
  echo "the fleet is not up, for the reason above; what runs is left running: make down ends it"
}

grafana() {
  log=.fleet/grafana.log
  if ! COMPOSE_PROFILES=grafana docker compose up --detach --wait grafana >"$log" 2>&1; then
    echo "the fleet runs without Grafana: $(tail -n 1 "$log")"
  fi
}

# What follows runs inside a container of the fleet, so that nothing but Docker is needed here.
runs() {
  [ -n "$(docker compose ps --status running --quiet "$1" 2>/dev/null)" ] && return
  echo "no fleet runs: make up first" >&2
  exit 1
}

operator_token() { docker compose run --rm --no-deps -T keys token; }

# The token goes in by stdin and is kept nowhere.
demo_docker() {
  runs switch
  token=$(operator_token)
  # shellcheck disable=SC2046 # addresses have no spaces
  echo "$token" | docker compose exec -T -u 1000 switch node libs/cli/src/main.ts demo --token-stdin \
    --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222 --reach trader=http://trader:9223 \
    $(address switch 9219) $(address neo 9220) $(address morpheus 9221) $(address trinity 9222) \
    $(address trader 9223) $(address prometheus 9090) $(COMPOSE_PROFILES=grafana address grafana 3000)
}

# `route` and `peers`: the token is the first line of stdin, a dispatch of `--file` the rest.
ask_docker() {
  runs switch
  token=$(operator_token)
  file=/dev/null
  before=
  for argument; do
    shift
    case $before:$argument in
      --file:*) file=$argument; set -- "$@" - ;;
      *:--file=*) file=${argument#--file=}; set -- "$@" --file - ;;
      *) set -- "$@" "$argument" ;;
    esac
    before=$argument
  done
  if [ "$file" = - ]; then file=/dev/stdin; fi
  { echo "$token"; cat "$file"; } | docker compose exec -T -u 1000 switch node libs/cli/src/main.ts "$@" --token-stdin \
    --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222
}

# `trader list|get|decide`, in the trader's own container: a pause needs nobody else. The token is the first line of
# stdin, the file of a decision the rest.
trader_docker() {
  if [ "${2:-}" = audit ]; then audit_docker "$@"; return; fi
  runs trader
  token=$(operator_token)
  file=/dev/null
  case ${2:-}:${3:-} in
    decide:-) file=/dev/stdin ;;
    decide: | decide:--*) ;;
    decide:*) file=$3; shift 3; set -- trader decide - "$@" ;;
  esac
  { echo "$token"; cat "$file"; } | docker compose exec -T trader node libs/cli/src/main.ts "$@" --token-stdin \
    --reach trader=http://127.0.0.1:9223
}

# Where the trader's file is: beside the trader, or in a container like its own while it is down.
audit_docker() {
  if [ -n "$(docker compose ps --status running --quiet trader 2>/dev/null)" ]; then
    docker compose exec -T trader node libs/cli/src/main.ts "$@" --as-is
  else
    docker compose run --rm --no-deps -T trader node libs/cli/src/main.ts "$@" --as-is
  fi
}

# In the container of the service that is looked at, with its own environment and keys.
doctor_docker() {
  profile=switch
  before=
  for argument; do
    case $before:$argument in
      --profile:*) profile=$argument ;;
      *:--profile=*) profile=${argument#--profile=} ;;
    esac
    before=$argument
  done
  runs "$profile"
  docker compose exec -T -u 1000 "$profile" node libs/cli/src/main.ts doctor --as-is "$@"
}

up_process() {
  not_both process
  if [ "${FLEET_MODE:-}" = process ] || [ -n "$(kept_mode)" ]; then echo "starting the fleet as plain processes on this machine"
  else echo "no Docker engine answers: starting the fleet as plain processes on this machine"; fi
  deploy/system-packages.sh
  remember process
  # shellcheck disable=SC2086 # one word or none
  fleet local up ${FLEET_PORT_OFFSET:+--port-offset $FLEET_PORT_OFFSET}
}

case ${1:-} in
  up) case $(mode) in docker) up_docker ;; process) up_process ;; *) exit 2 ;; esac ;;
  down)
    ended=$(mode)
    case $ended in docker) COMPOSE_PROFILES=grafana docker compose down ;; process) fleet local down ;; esac
    case $(cat "$marker" 2>/dev/null) in "$ended") rm -f "$marker" ;; esac
    ;;
  logs)
    case $(mode) in docker) COMPOSE_PROFILES=grafana docker compose logs --follow --tail 100 ;; process) fleet local logs --follow ;; *) exit 2 ;; esac
    ;;
  ps)
    case $(mode) in docker) COMPOSE_PROFILES=grafana docker compose ps --all ;; process) fleet local ps ;; *) exit 2 ;; esac
    ;;
  token)
    case $(mode) in docker) docker compose run --rm --no-deps -T keys token ;; process) fleet token ;; *) exit 2 ;; esac
    ;;
  demo) case $(mode) in docker) demo_docker ;; process) fleet demo ;; *) exit 2 ;; esac ;;
  route | peers) case $(mode) in docker) ask_docker "$@" ;; process) fleet "$@" ;; *) exit 2 ;; esac ;;
  trader) case $(mode) in docker) trader_docker "$@" ;; process) fleet "$@" ;; *) exit 2 ;; esac ;;
  doctor)
    shift
    case $(mode) in docker) doctor_docker "$@" ;; process) fleet doctor "$@" ;; *) exit 2 ;; esac
    ;;
  *) echo "usage: deploy/fleet.sh up|down|logs|ps|token|demo|route|peers|trader|doctor" >&2; exit 2 ;;
esac
