#!/bin/sh
# Prints the manifests of an overlay, for `kubectl apply --filename -`. The overlay has the folders of deploy/profiles in ConfigMaps, and
# kustomize reads files above an overlay only if it is told to.
#   deploy/kubernetes/render.sh small|large|<folder of an overlay of your own>
set -eu
case ${1:-} in -h | --help) exec sed -n '2,/^set/s/^# \{0,1\}//p' "$0" ;; esac
overlay=${1:?name an overlay: small, large, or the folder of your own}
here=$(cd "$(dirname "$0")" && pwd -P)
if [ -f "$here/overlays/$overlay/kustomization.yaml" ]; then overlay=$here/overlays/$overlay; fi
exec kubectl kustomize --load-restrictor LoadRestrictionsNone -- "$overlay"
