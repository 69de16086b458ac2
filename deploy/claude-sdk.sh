#!/usr/bin/env bash
# Installs the optional Claude Agent SDK into the fleet folder .cache/claude-sdk, where the tests look for it: about 430 MB under
# its own license, never part of the repository or an image. If the installation fails, its tests are skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"
package=@anthropic-ai/claude-agent-sdk
tested=$(node --print "require('./libs/core/installation/src/index.ts').TESTED_PACKAGES['$package']")
manifest=.cache/claude-sdk/packages/node_modules/$package/package.json
if [ -f "$manifest" ] && grep -q "\"version\": \"$tested\"" "$manifest"; then exit 0; fi
mkdir -p .cache/claude-sdk
# What makes it a fleet folder.
cp deploy/members.yaml .cache/claude-sdk
if ! FLEET_FOLDER=.cache/claude-sdk timeout 300 node libs/cli/src/main.ts add "$package" >&2; then
  echo "the Claude Agent SDK $tested could not be installed: the tests of executor: claude-code will be skipped" >&2
fi
