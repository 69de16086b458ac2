#!/usr/bin/env bash
# Installs the optional Claude Agent SDK into .cache/claude-sdk, where the tests look for it: about 430 MB under its own
# license, never part of the repository or an image. If the installation fails, its tests are skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(node -p "require('./libs/agent/claude-code/package.json').peerDependencies['@anthropic-ai/claude-agent-sdk']")
folder=.cache/claude-sdk
package=node_modules/@anthropic-ai/claude-agent-sdk/package.json
if [ -f "$folder/$package" ] && grep -q "\"version\": \"$version\"" "$folder/$package"; then exit 0; fi
mkdir -p "$folder"
log=$(mktemp)
if ! timeout 300 npm install --prefix "$folder" --omit=dev --no-audit --no-fund --no-save --loglevel=error \
  "@anthropic-ai/claude-agent-sdk@$version" >"$log" 2>&1; then
  tail -n 3 "$log" >&2
  echo "the Claude Agent SDK $version could not be installed: the tests of executor: claude-code will be skipped" >&2
  rm -rf "$folder"
fi
rm -f "$log"
