#!/bin/sh
# Deploys the fleet on the Swarm of the engine that `docker` talks to, or updates it: makes the secrets that do not exist yet, and
# removes secrets and configs that no service uses, nor would use after a rollback.
#   deploy/swarm/up.sh <stack> <folder of the keys> [<further file of the stack> ...]
# The keys are made by `fleet keys init --dir <folder> --replicas neo=<number>`.
set -eu
case ${1:-} in -h | --help) exec sed -n '2,/^set/s/^# \{0,1\}//p' "$0" ;; esac
STACK=${1:?name the stack, such as hermes}
keys=$(cd "${2:?name the folder of the keys}" && pwd -P)
shift 2
here=$(cd "$(dirname "$0")" && pwd -P)
DEPLOY_DIR=$(cd "${DEPLOY_DIR:-$here/..}" && pwd -P)
export STACK DEPLOY_DIR

version() { sha256sum | cut -c 1-12; }
made=
# Makes the secret of a reader, unless there is one with this content.
secret() {
  version=$(printf '%s\n' "$2" | version)
  name=${STACK}_keys-$1_$version
  export "KEYS_$1=$version"
  made="$made \"$name\""
  if docker secret inspect "$name" >/dev/null 2>&1; then return; fi
  printf '%s\n' "$2" | docker secret create --label "hermes-fleet.stack=$STACK" "$name" - >/dev/null
  echo "made the secret $name"
}
# The keys of a reader as lines.
bundle() {
  for file in "$keys/$1"/*; do
    printf '%s=' "${file##*/}"
    cat "$file" || return 1
    echo
  done
}
for reader in switch neo morpheus trinity trader console setup; do
  lines=$(bundle "$reader")
  secret "$reader" "$lines"
done
lines=$(cat "$keys/nats/nats.conf")
secret nats "$lines"

# The version of the configs of a folder.
configs() {
  name=$1 folder=$DEPLOY_DIR/$2
  shift 2
  sums=$(cd "$folder" && sha256sum -- "$@")
  export "CONFIGS_$name=$(printf '%s\n' "$sums" | version)"
}
for profile in switch neo morpheus trinity; do
  configs "$profile" "profiles/$profile" fleet.yaml config.yaml IDENTITY.md
done
configs repositories profiles repositories.yaml
configs trader trader fleet.yaml trader.yaml IDENTITY.md
configs console console console.yaml

for file; do
  shift
  set -- "$@" --compose-file "$file"
done
docker stack deploy --detach=true --resolve-image never --with-registry-auth --compose-file "$here/stack.yml" "$@" "$STACK"

# What the services use, and what they used before their last update: a rollback needs it.
used=$made$(docker stack services --quiet "$STACK" | xargs docker service inspect)
remove_unused() {
  for name in $(docker "$1" ls --filter "label=$2" --format '{{.Name}}'); do
    case $used in *"\"$name\""*) continue ;; esac
    if docker "$1" rm "$name" >/dev/null; then echo "removed the $1 $name"; fi
  done
}
remove_unused secret "hermes-fleet.stack=$STACK"
remove_unused config "com.docker.stack.namespace=$STACK"
