#!/usr/bin/env bash
# Installs the command line of the MCP inspector into .cache/mcp-inspector, where a test looks for it: about 110 MB, because the
# package brings a web application too. If the installation fails, the test is skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.12.0
folder=.cache/mcp-inspector
package=node_modules/@modelcontextprotocol/inspector/package.json
if [ -f "$folder/$package" ] && grep -q "\"version\": \"$version\"" "$folder/$package"; then exit 0; fi
mkdir -p "$folder"
log=$(mktemp)
if ! timeout 300 npm install --prefix "$folder" --omit=dev --ignore-scripts --no-audit --no-fund --no-save --loglevel=error \
  "@modelcontextprotocol/inspector@$version" >"$log" 2>&1; then
  tail -n 3 "$log" >&2
  echo "the MCP inspector $version could not be installed: its test will be skipped" >&2
  rm -rf "$folder"
fi
rm -f "$log"
