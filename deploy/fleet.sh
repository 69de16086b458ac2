#!/bin/sh
# Implements `./fleet` and the targets of make: the fleet runs in containers if a Docker engine answers, else as plain
# processes. FLEET_MODE=docker|process forces a mode; a running fleet keeps its mode until
# `down`.
set -eu
here=$PWD
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

trimmed() {
  text=${1#"${1%%[![:space:]]*}"}
  printf %s "${text%"${text##*[![:space:]]}"}"
}

# Prints the value of a variable from what follows `=`: quoted, or up to a comment. Fails for what is neither.
value_of() {
  text=$(trimmed "$1")
  case $text in
    \"*\"* | \'*\'*)
      quote=${text%"${text#?}"}
      text=${text#?}
      after=$(trimmed "${text#*"$quote"}")
      case $after in '' | '#'*) printf %s "${text%%"$quote"*}" ;; *) return 1 ;; esac
      ;;
    \"* | \'*) return 1 ;;
    *) case $1 in [[:space:]]*'#'*) text=" $text" ;; esac; trimmed "${text%%[[:space:]]#*}" ;;
  esac
}

# Variables that the environment does not set are read from .env.local: keys of model providers, as `NAME=value` lines.
# Nothing in the file is run, and no value is printed.
read_keys() {
  number=0
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    line=$(trimmed "$line")
    case $line in '' | '#'*) continue ;; export[[:space:]]*) line=$(trimmed "${line#export}") ;; esac
    name=${line%%=*}
    case $line in *=*) ;; *) name= ;; esac
    case $name in
      '' | [0-9]* | *[!A-Za-z0-9_]*) name= ;;
      *) value=$(value_of "${line#*=}") || name= ;;
    esac
    if [ -z "$name" ]; then echo ".env.local:$number: not understood, and left out: write NAME=value" >&2; continue; fi
    eval "kept=\${$name-}"
    # shellcheck disable=SC2154 # eval sets it
    [ -n "$kept" ] || export "$name=$value"
  done <.env.local
}
if [ -f .env.local ]; then read_keys; fi

marker=.fleet/mode

has_engine() {
  docker version --format '{{.Server.Version}}' >/dev/null 2>&1 && docker compose version >/dev/null 2>&1
}

# Prints the mode of the running fleet, or nothing: pid files are of processes, the marker is of containers.
kept_mode() {
  # Another user's pid files are unreadable: keep the mode, and let the command report the missing permission.
  if [ -d .fleet/run ] && [ ! -r .fleet/run ]; then echo process; return; fi
  for record in .fleet/run/*.json; do if [ -f "$record" ]; then echo process; return; fi; done
  case $(cat "$marker" 2>/dev/null) in docker) echo docker ;; esac
}

mode() {
  case ${FLEET_MODE:-} in
    docker | process) echo "$FLEET_MODE" ;;
    '') kept=$(kept_mode); if [ -n "$kept" ]; then echo "$kept"; elif has_engine; then echo docker; else echo process; fi ;;
    *) echo "FLEET_MODE must be docker or process, not \"$FLEET_MODE\"" >&2; exit 2 ;;
  esac
}

remember_docker() {
  mkdir -p .fleet
  chmod 711 .fleet
  echo docker >"$marker"
}

# Installs the dependencies of the checkout, with its pinned Node, where they are not those of the lockfile.
fleet_ready() {
  if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error </dev/null >&2
  fi
}

# Compiled TypeScript, which halves the time that a command takes to start.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$root/.cache/node}"

# Runs the fleet command with the pinned Node, in the root of the checkout.
fleet() {
  fleet_ready
  PATH="$root/node_modules/.bin:$PATH" node libs/cli/src/main.ts "$@"
}

# As `fleet`, in the folder of the caller, where the files that it names are, and in place of this shell: a shell that waits
# for a command dies of Ctrl-C, which the command handles.
fleet_here() {
  fleet_ready
  cd "$here"
  export PATH="$root/node_modules/.bin:$PATH"
  exec node "$root/libs/cli/src/main.ts" "$@"
}

# The host can run the fleet command: it has the pinned Node already, or npm to install it.
can_run_node() { [ -x node_modules/.bin/node ] || command -v npm >/dev/null 2>&1; }

# Commands that need neither a running fleet nor its keys, such as --help. A host with Docker only uses the image.
anywhere() {
  if can_run_node; then fleet_here "$@"; fi
  docker compose run --rm --no-deps -T --entrypoint fleet keys "$@"
}

# Prints the published address of a service as an option, or nothing when it is not published.
address() {
  published=$(docker compose port "$1" "$2" 2>/dev/null) || return 0
  [ -z "$published" ] || printf -- '--address %s=http://%s ' "$1" "$published"
}

# A checkout runs one fleet: a second one in the other mode would need the same ports, and `down` would miss it.
refuse_second_fleet() {
  kept=$(kept_mode)
  case $kept in "$1" | '') return 0 ;; esac
  if [ "$kept" = docker ] && { ! has_engine || [ -z "$(COMPOSE_PROFILES=grafana docker compose ps --all --quiet)" ]; }; then return 0; fi
  echo "the fleet is up already, as FLEET_MODE=$kept: FLEET_MODE=$kept make down stops it" >&2
  exit 1
}

up_docker() {
  if ! has_engine; then
    if [ "${FLEET_MODE:-}" = docker ]; then echo "FLEET_MODE=docker, but no Docker engine with Compose answers" >&2
    else echo "the fleet runs in containers, but no Docker engine with Compose answers: start the engine, or FLEET_MODE=process make up" >&2; fi
    exit 1
  fi
  refuse_second_fleet docker
  sh deploy/docker/preflight.sh up || exit 1
  echo "starting the fleet in containers"
  remember_docker
  make_readable
  reload_nats
  # shellcheck disable=SC2046 # names have no spaces
  COMPOSE_PROFILES='' docker compose up --build --detach --wait $(all_but_console) || { report_failure >&2; exit 1; }
  console
  grafana
  # shellcheck disable=SC2046 # addresses have no spaces
  docker compose exec -T -u 1000 switch fleet first-flight --root "$root" --settle http://127.0.0.1:9219 \
    $(address switch 9219) $(address neo 9220) $(address morpheus 9221) $(address trinity 9222) \
    $(address trader 9223) $(address console 9224) $(address prometheus 9090) $(COMPOSE_PROFILES=grafana address grafana 3000) \
    $(console_option)
}

# The services without the console, without which the fleet runs where it does not start.
all_but_console() { COMPOSE_PROFILES='' docker compose config --services | grep -v '^console$'; }

console() {
  log=.fleet/console.log
  if ! COMPOSE_PROFILES='' docker compose up --detach --wait console >"$log" 2>&1; then
    echo "the fleet runs without the console: $(tail -n 1 "$log"); docker compose logs console says more"
  fi
}

# Prints a link that opens the console once, as an option, or nothing where no console runs.
console_option() {
  link=$(console_command 2>/dev/null) || return 0
  [ -z "$link" ] || printf -- '--console %s' "$link"
}

# Runs `fleet console` in the console's container, where CONSOLE_LOGIN is.
console_command() {
  docker compose exec -T console fleet console --as-is --address "http://$(docker compose port console 9224)" "$@" </dev/null
}

console_docker() {
  shift
  if [ -z "$(docker compose ps --status running --quiet console 2>/dev/null)" ]; then
    echo "no console runs: make up starts it, and says why where it does not start" >&2
    exit 1
  fi
  if [ $# -gt 0 ] || [ ! -t 1 ]; then console_command "$@"; return; fi
  link=$(console_command)
  echo "$link"
  echo "The link works once, within five minutes." >&2
  if [ "$(uname)" = Darwin ]; then open "$link"
  elif [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then xdg-open "$link" >/dev/null 2>&1 &
  fi
}

# The containers' users read these files through bind mounts, even if a strict umask made them private.
make_readable() {
  find deploy/profiles deploy/trader deploy/console deploy/prometheus deploy/grafana \( -name state -o -name workspace \) -prune \
    -o ! -perm -o=r -exec chmod a+rX {} +
}

# A NATS server that keeps running does not know the users of services that were added since.
reload_nats() {
  [ -n "$(docker compose ps --status running --quiet nats 2>/dev/null)" ] || return 0
  docker compose run --build --rm --no-deps -T keys init && docker compose kill --signal HUP nats
}

# After a failed `up`: prints the services that are not healthy, with the end of their logs.
report_failure() {
  docker compose ps --all --format '{{.Service}}:{{.State}}:{{.Health}}:{{.ExitCode}}' | while IFS=: read -r service state health code; do
    case $state:$health:$code in running:healthy:* | running::* | exited::0) continue ;; esac
    if [ "$state" = created ]; then echo "$service was not started"; continue; fi
    echo "$service is $state${health:+, $health}, exit code $code; the end of its log:"
    docker compose logs --tail 20 --no-color --no-log-prefix "$service" </dev/null
  done
  echo "the fleet is not up, for the reason above; the other containers keep running: make down stops them"
}

grafana() {
  log=.fleet/grafana.log
  if ! COMPOSE_PROFILES=grafana docker compose up --detach --wait grafana >"$log" 2>&1; then
    echo "the fleet runs without Grafana: $(tail -n 1 "$log")"
  fi
}

# The commands below run inside a container, so that the host needs only Docker.
require_running() {
  [ -n "$(docker compose ps --status running --quiet "$1" 2>/dev/null)" ] && return
  echo "no fleet runs: make up first" >&2
  exit 1
}

# The input is the command's own: nothing before it may read from there.
operator_token() { docker compose run --rm --no-deps -T keys token "$@" </dev/null; }

# Passes the token on stdin; it is not stored.
demo_docker() {
  require_running switch
  token=$(operator_token)
  # shellcheck disable=SC2046 # addresses have no spaces
  echo "$token" | docker compose exec -T -u 1000 switch fleet "$@" --token-stdin \
    --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222 --reach trader=http://trader:9223 \
    $(address switch 9219) $(address neo 9220) $(address morpheus 9221) $(address trinity 9222) \
    $(address trader 9223) $(address prometheus 9090) $(COMPOSE_PROFILES=grafana address grafana 3000)
}

# The path of a file that the caller names, which is relative to the caller's folder; - is stdin.
path_of() {
  case $1 in -) echo /dev/stdin ;; /*) echo "$1" ;; *) echo "$here/$1" ;; esac
}

# `send`, `tasks`, `watch` and the like, which need a terminal and files of the caller: on the host where it can run them, else
# in switch's container. FLEET_TOKEN holds the token, so that it is in no list of arguments.
client_docker() {
  verb=$1
  shift
  require_running switch
  FLEET_TOKEN=$(operator_token)
  export FLEET_TOKEN
  if can_run_node; then
    # shellcheck disable=SC2046 # addresses have no spaces
    fleet_here "$verb" $(reach switch 9219) $(reach neo 9220) $(reach morpheus 9221) $(reach trinity 9222) "$@"
  fi
  if [ "$verb" = pull ]; then client_in_repository "$here" rw '' "$verb" "$@"; fi
  if [ "$verb" = send ]; then send_repository "$@"; fi
  client_in_switch "$verb" --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222 "$@"
}

# Runs `send` for the path that --repo names; returns where it names none. The repository can be written where a commit of
# the changes must be.
send_repository() {
  repository=
  access=ro
  before=
  for argument; do
    case $before:$argument in
      *:--) break ;;
      --repo:*) repository=$argument ;;
      *:--repo=*) repository=${argument#--repo=} ;;
      *:--include-changes) access=rw ;;
    esac
    before=$argument
  done
  case $repository in . | .. | */*) ;; *) return 0 ;; esac
  refuse_files "$@"
  path=$repository
  case $path in /*) ;; *) path=$here/$path ;; esac
  found=$(cd "$path" 2>/dev/null && pwd -P) || { echo "fleet: --repo $repository is no folder: nothing was sent" >&2; exit 2; }
  # The container has the real path only.
  before=
  for argument; do
    shift
    case $before:$argument in
      --repo:"$repository") set -- "$@" "$found" ;;
      *:--repo="$repository") set -- "$@" "--repo=$found" ;;
      *) set -- "$@" "$argument" ;;
    esac
    before=$argument
  done
  terminal=-i
  if [ -t 0 ] && [ -t 1 ]; then terminal=-it; fi
  client_in_repository "$found" "$access" "$terminal" send "$@"
}

# Runs a client command for the git repository of a folder, in a container of its own that has nothing else of this
# machine but what the caller's git ignores, as the caller, and on the network of switch; in place of this shell as `fleet_here` does.
client_in_repository() {
  folder=$1
  access=$2
  terminal=$3
  verb=$4
  shift 4
  top=$folder
  while [ "$top" != / ] && [ ! -e "$top/.git" ] && [ ! -f "$top/HEAD" ]; do top=$(dirname "$top"); done
  if [ -f "$top/.git" ]; then
    echo "fleet: the repository of $top is in another folder, so $verb needs Node here: install Node with npm" >&2
    exit 2
  fi
  if [ "$top" = / ]; then top=$folder; fi
  if [ "$top" = / ]; then
    echo "fleet: without Node, $verb takes no repository in /: name another folder, or install Node with npm" >&2
    exit 2
  fi
  switch=$(docker compose ps --status running --quiet switch)
  image=$(docker inspect --format '{{.Config.Image}}' "$switch")
  set -- --entrypoint fleet "$image" "$verb" --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222 "$@"
  ignored=$(ignore_file "$folder")
  if [ -f "$ignored" ]; then
    set -- --volume "$ignored:/etc/fleet-ignore:ro" -e GIT_CONFIG_COUNT=1 -e GIT_CONFIG_KEY_0=core.excludesFile \
      -e GIT_CONFIG_VALUE_0=/etc/fleet-ignore "$@"
  fi
  # shellcheck disable=SC2086 # one word or none
  exec docker run --rm --init $terminal --read-only --cap-drop ALL --security-opt no-new-privileges --network "container:$switch" \
    --tmpfs /tmp:mode=1777 -e FLEET_TOKEN -e NO_COLOR -e HOME=/tmp --user "$(id -u):$(id -g)" \
    --volume "$top:$top:$access" --workdir "$folder" "$@"
}

# Prints the path of the caller's own file of what git ignores in every repository.
ignore_file() {
  git -C "$1" config --type=path --get core.excludesFile 2>/dev/null || echo "${XDG_CONFIG_HOME:-${HOME:-}/.config}/git/ignore"
}

# Refuses options with files of the caller, which no container has.
refuse_files() {
  for argument; do
    case $argument in
      --file | --file=* | --schema | --schema=* | --artifacts | --artifacts=*)
        echo "fleet: ${argument%%=*} uses files of this machine, so it needs Node here: install Node with npm" >&2
        exit 2
        ;;
    esac
  done
}

# Runs a client command in switch's container, with the variables that it reads, in place of this shell as `fleet_here` does.
client_in_switch() {
  refuse_files "$@"
  variables='FLEET_TOKEN NO_COLOR'
  before=
  for argument; do
    case $before:$argument in
      --token-env:*) variables="$variables $argument" ;;
      *:--token-env=*) variables="$variables ${argument#--token-env=}" ;;
    esac
    before=$argument
  done
  for variable in $variables; do
    case $variable in *[!A-Za-z0-9_]*) echo "fleet: --token-env must be the name of a variable" >&2; exit 2 ;; esac
    if eval "[ -n \"\${$variable-}\" ]"; then set -- -e "$variable" "$@"; fi
  done
  # The variables come first, so that the command begins at the first word that is neither -e nor a name after it.
  options=
  while [ "${1:-}" = -e ]; do options="$options -e $2"; shift 2; done
  terminal=-T
  if [ -t 0 ] && [ -t 1 ]; then terminal=; fi
  # shellcheck disable=SC2086 # options are words without spaces
  exec docker compose exec $terminal $options -u 1000 switch fleet "$@"
}

# `logs` for one task, from the logs of the containers that have tasks, also of those that have ended.
task_logs_docker() {
  shift
  docker compose logs --no-color --no-log-prefix switch neo morpheus trinity trader </dev/null |
    if can_run_node; then fleet_here logs --stdin "$@"
    else docker compose run --rm --no-deps -T --entrypoint fleet keys logs --stdin "$@"; fi
}

# Runs `fleet events` in a container of its own, in place of this shell as `fleet_here` does: only the network of the fleet
# reaches NATS, and only the operator's keys may read all events.
events_docker() {
  shift
  require_running nats
  if [ -t 0 ] && [ -t 1 ]; then exec docker compose run --rm --no-deps events "$@"; fi
  exec docker compose run --rm --no-deps -T events "$@" </dev/null
}

# A command for an agent that is not of the fleet, which needs neither the fleet nor its keys where the host runs it.
client_of_agent() {
  if can_run_node; then fleet_here "$@"; fi
  require_running switch
  client_in_switch "$@"
}

# The MCP server over stdio, for the profile that --profile names: on the host where it can run it, else in its container. The
# standard output is the client's, so nothing else is printed there.
mcp_docker() {
  shift
  profile=switch
  before=
  for argument; do
    case $before:$argument in
      --profile:*) profile=$argument ;;
      *:--profile=*) profile=${argument#--profile=} ;;
      *:--profile) ;;
      *) echo "fleet: unknown option '$argument' for a fleet in containers: fleet mcp [--profile name]" >&2; exit 2 ;;
    esac
    before=$argument
  done
  case $profile in switch) port=9219 ;; neo) port=9220 ;; morpheus) port=9221 ;; trinity) port=9222 ;; *)
    echo "fleet: there is no profile $profile, only switch, neo, morpheus, trinity" >&2
    exit 2
    ;;
  esac
  require_running "$profile"
  FLEET_TOKEN=$(operator_token)
  export FLEET_TOKEN
  if can_run_node; then
    fleet_here mcp --url "http://$(docker compose port "$profile" "$port")" --token-env FLEET_TOKEN
  fi
  exec docker compose exec -T -e FLEET_TOKEN -u 1000 "$profile" fleet mcp --url "http://127.0.0.1:$port" --token-env FLEET_TOKEN
}

# Prints the published address of a profile as a --reach option.
reach() {
  published=$(docker compose port "$1" "$2" 2>/dev/null) || return 0
  [ -z "$published" ] || printf -- '--reach %s=http://%s ' "$1" "$published"
}

# A command with --url calls an agent that is not of the fleet.
names_agent() {
  for argument; do case $argument in --url | --url=*) return 0 ;; esac; done
  return 1
}

# `route`, `peers` and `context`: stdin holds the token on its first line, then the dispatch of `--file`.
ask_docker() {
  require_running switch
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
  file=$(path_of "$file")
  { echo "$token"; cat "$file"; } | docker compose exec -T -u 1000 switch fleet "$@" --token-stdin \
    --reach switch=http://switch:9219 --reach neo=http://neo:9220 \
    --reach morpheus=http://morpheus:9221 --reach trinity=http://trinity:9222
}

# `join-token` and `workers`, in switch's container, which cannot write files of the caller. The printed command names the published
# address, which another machine reaches only through a proxy or a published port of its own: `--address` names that one.
membership_docker() {
  for argument; do
    case $argument in
      --token-file | --token-file=*)
        echo "fleet: for a fleet in containers, leave out --token-file, and write the token to a file yourself" >&2
        exit 2
        ;;
    esac
  done
  if [ "${1:-} ${2:-}" = 'join-token create' ]; then
    shift 2
    set -- join-token create --address "http://$(docker compose port switch 9219)" "$@"
  fi
  ask_docker "$@"
}

# `trader list|get|decide` and `trader audit accept` run in the trader's container, so that a pause needs no other service.
# stdin holds the token on its first line, then the decision.
trader_docker() {
  case ${2:-}:${3:-} in
    audit:accept) ;;
    audit:*) audit_docker "$@"; return ;;
  esac
  require_running trader
  token=$(operator_token)
  file=/dev/null
  case ${2:-}:${3:-} in
    decide:-) file=/dev/stdin ;;
    decide: | decide:--*) ;;
    decide:*) file=$(path_of "$3"); shift 3; set -- trader decide - "$@" ;;
  esac
  { echo "$token"; cat "$file"; } | docker compose exec -T trader fleet "$@" --token-stdin \
    --reach trader=http://127.0.0.1:9223
}

# A backtest needs no fleet, but files of the caller, which the image does not have.
backtest() {
  if can_run_node; then fleet_here "$@"; fi
  for argument; do
    case $argument in
      --csv | --csv=* | --decisions | --decisions=* | --config | --config=* | --orders | --orders=*)
        echo "fleet: ${argument%%=*} uses files of this machine, so it needs Node here: install Node with npm" >&2
        exit 2
        ;;
    esac
  done
  anywhere "$@"
}

# Reads the trader's volume: in its container, or in a new one while it is down. The console is asked first what it has seen.
audit_docker() {
  if [ "${3:-}" = verify ]; then
    if seen=$(docker compose exec -T console fleet console heads --as-is --json </dev/null 2>/dev/null); then
      set -- "$@" --witness "$seen"
    else
      set -- "$@" --witness '{"problem":"the console does not answer"}'
    fi
  fi
  if [ -n "$(docker compose ps --status running --quiet trader 2>/dev/null)" ]; then
    docker compose exec -T trader fleet "$@" --as-is
  else
    docker compose run --rm --no-deps -T trader fleet "$@" --as-is
  fi
}

# Runs in the container of the checked service, with its environment and keys.
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
  require_running "$profile"
  docker compose exec -T -u 1000 "$profile" fleet doctor --as-is "$@"
}

# Reads the ledger of a service: in its container, or in a new one while it is down.
refill_service() {
  service=$1
  shift
  if [ -n "$(docker compose ps --status running --quiet "$service" 2>/dev/null)" ]; then
    docker compose exec -T -u 1000 "$service" fleet nats refill --as-is "$@" --profile "$service"
  else
    docker compose run --rm --no-deps -T -u 1000 --entrypoint fleet "$service" nats refill --as-is "$@" \
      --profile "$service"
  fi
}

# For every service, or that of --profile.
refill_docker() {
  shift 2
  services='switch neo morpheus trinity trader'
  before=
  for argument; do
    case $before:$argument in
      --profile:*) services=$argument ;;
      *:--profile=*) services=${argument#--profile=} ;;
    esac
    before=$argument
  done
  result=0
  for service in $services; do
    refill_service "$service" "$@" </dev/null || result=1
  done
  return $result
}

up_process() {
  refuse_second_fleet process
  if [ "${FLEET_MODE:-}" = process ] || [ -n "$(kept_mode)" ]; then echo "starting the fleet as plain processes on this machine"
  else echo "no Docker engine answers: starting the fleet as plain processes on this machine"; fi
  deploy/system-packages.sh
  rm -f "$marker"
  # shellcheck disable=SC2086 # one word or none
  fleet local up ${FLEET_PORT_OFFSET:+--port-offset $FLEET_PORT_OFFSET}
}

# The revision of what runs, for `fleet_build_info`: the last commit of the services, and whether they were changed since.
# Empty without git.
revision() {
  code='libs services package.json package-lock.json deploy/docker deploy/package'
  # shellcheck disable=SC2086 # paths without spaces
  commit=$(git log -1 --format=%h -- $code 2>/dev/null) || return 0
  # shellcheck disable=SC2086
  git diff --quiet HEAD -- $code 2>/dev/null || commit=$commit-changed
  printf %s "$commit"
}

# Refuses arguments of a command that takes none.
takes_nothing() {
  verb=$1
  shift
  [ $# -eq 0 ] || { echo "fleet: $verb takes no \"$*\"" >&2; exit 2; }
}

# Help needs neither a fleet nor its keys.
for argument; do case $argument in --) break ;; -h | --help) anywhere "$@"; exit ;; esac; done
case ${1:-} in up | down) takes_nothing "$@" ;; esac

case ${1:-} in
  up)
    export FLEET_REVISION="${FLEET_REVISION:-$(revision)}"
    case $(mode) in docker) up_docker ;; process) up_process ;; *) exit 2 ;; esac
    ;;
  down)
    ended=$(mode)
    case $ended in
      docker) sh deploy/docker/preflight.sh down; COMPOSE_PROFILES=grafana,welcome,events docker compose down; rm -f "$marker" ;;
      process) fleet local down ;;
      *) exit 2 ;;
    esac
    ;;
  logs)
    if [ $# -gt 1 ]; then case $(mode) in docker) task_logs_docker "$@"; exit ;; process) fleet_here "$@" ;; *) exit 2 ;; esac; fi
    case $(mode) in docker) COMPOSE_PROFILES=grafana docker compose logs --follow --tail 100 ;; process) fleet local logs --follow ;; *) exit 2 ;; esac
    ;;
  ps)
    shift
    case $(mode) in
      docker)
        [ $# -eq 0 ] || { echo "fleet: ps takes no \"$*\" for a fleet in containers: docker compose ps --all has --format json" >&2; exit 2; }
        COMPOSE_PROFILES=grafana docker compose ps --all
        ;;
      process) fleet_here local ps "$@" ;;
      *) exit 2 ;;
    esac
    ;;
  token)
    shift
    case $(mode) in docker) operator_token "$@" ;; process) fleet_here token "$@" ;; *) exit 2 ;; esac
    ;;
  send | tasks | task | diff | show | pull | watch | cancel | answer | cost)
    if names_agent "$@"; then client_of_agent "$@"
    else case $(mode) in docker) client_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac; fi
    ;;
  events)
    case $(mode) in docker) events_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac
    ;;
  console)
    case $(mode) in docker) console_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac
    ;;
  mcp)
    if names_agent "$@"; then client_of_agent "$@"
    else case $(mode) in docker) mcp_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac; fi
    ;;
  join-token | workers) case $(mode) in docker) membership_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac ;;
  join | leave)
    if can_run_node; then fleet_here "$@"; fi
    echo "fleet: $1 needs Node here, or a container of its own: docs/peering.md has the docker run line" >&2
    exit 2
    ;;
  demo) case $(mode) in docker) demo_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac ;;
  route | peers | context) case $(mode) in docker) ask_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac ;;
  trader)
    if [ "${2:-}" = backtest ]; then backtest "$@"; exit; fi
    case $(mode) in docker) trader_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac
    ;;
  backup | restore)
    verb=$1
    case $(mode) in
      docker) shift; sh deploy/docker/backup.sh "$verb" "$here" "$@" ;;
      process) fleet_here "$@" ;;
      *) exit 2 ;;
    esac
    ;;
  nats)
    if [ "${2:-}" != refill ]; then anywhere "$@"; exit; fi
    case $(mode) in docker) refill_docker "$@" ;; process) fleet_here "$@" ;; *) exit 2 ;; esac
    ;;
  doctor)
    shift
    case $(mode) in docker) doctor_docker "$@" ;; process) fleet doctor "$@" ;; *) exit 2 ;; esac
    ;;
  *) anywhere "$@" ;;
esac
