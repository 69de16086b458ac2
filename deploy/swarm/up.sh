#!/bin/sh
# Deploys the fleet on the Swarm of the engine that `docker` talks to, or updates it: makes the secrets that do not exist yet, and
# removes those of earlier versions that no service uses.
#   deploy/swarm/up.sh <stack> <folder of the keys> [<further file of the stack> ...]
# The keys are made by `fleet keys init --dir <folder> --replicas neo=<number>`.
set -eu
STACK=${1:?name the stack, such as hermes}
keys=$(cd "${2:?name the folder of the keys}" && pwd -P)
shift 2
here=$(cd "$(dirname "$0")" && pwd -P)
DEPLOY_DIR=${DEPLOY_DIR:-$(dirname "$here")}

digest() { xargs -0 sha256sum | sort | sha256sum | cut -c 1-12; }
KEYS_VERSION=$(cd "$keys" && find . -type f ! -path './operator/*' -print0 | digest)
CONFIGS_VERSION=$(cd "$DEPLOY_DIR" && find profiles trader console -type f ! -path '*/state/*' ! -path '*/workspace/*' -print0 | digest)
export STACK DEPLOY_DIR KEYS_VERSION CONFIGS_VERSION

# The keys of a reader as lines, in one secret.
bundle() { for file in "$keys/$1"/*; do printf '%s=%s\n' "$(basename "$file")" "$(cat "$file")"; done; }
create() {
  name=${STACK}_keys-$1_$KEYS_VERSION
  if docker secret inspect "$name" >/dev/null 2>&1; then return; fi
  docker secret create --label "hermes-fleet.stack=$STACK" "$name" - >/dev/null
  echo "made the secret $name"
}
for reader in switch neo morpheus trinity trader console setup; do bundle "$reader" | create "$reader"; done
create nats <"$keys/nats/nats.conf"

files="--compose-file $here/stack.yml"
for file; do files="$files --compose-file $file"; done
# shellcheck disable=SC2086 # a list of options
docker stack deploy --detach=true --resolve-image never $files "$STACK"

# An old secret can be removed when no task uses it any more: the next run does it, if this one is too early.
for name in $(docker secret ls --filter "label=hermes-fleet.stack=$STACK" --format '{{.Name}}'); do
  case $name in *_"$KEYS_VERSION") continue ;; esac
  docker secret rm "$name" >/dev/null 2>&1 || echo "the secret $name is in use still: run this again when the update is over"
done
