#!/usr/bin/env bash
# Sends a dispatch to switch, follows its stream of events, and prints the TASK_RESULT. Needs curl. The argument is an MCP
# server that the task requires.
#
#   FLEET_TOKEN=$(make -s token) examples/curl/dispatch.sh [<MCP server>]
set -euo pipefail
url=${FLEET_URL:-http://127.0.0.1:9219}
: "${FLEET_TOKEN:?set FLEET_TOKEN to the output of: make -s token}"
# The caller's name for the task: the same name with the same contract is the same task, however often it is sent.
task_id=${TASK_ID:-curl-$(date +%s)-$$}

# The brief is a runbook, which the shipped offline model carries out; with another model it is any text.
curl -sS --no-buffer --fail-with-body "$url/jsonrpc" \
  -H "Authorization: Bearer $FLEET_TOKEN" -H 'Content-Type: application/json' \
  -H 'A2A-Version: 1.0' -H 'A2A-Extensions: urn:hermes-fleet:handshake:2' -d @- <<JSON |
{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": {
  "messageId": "$task_id", "role": "ROLE_USER", "parts": [{
    "mediaType": "application/vnd.hermes.handshake+json",
    "data": {
      "type": "TASK_DISPATCH", "protocol_version": "2.0",
      "task": {"task_id": "$task_id", "reply_schema": "structured", "token_budget": 20000},
      "requirements": {"required_mcp": [${1:+"\"$1\""}], "required_capabilities": ["terminal", "file"]},
      "routing": {"target": "auto"},
      "brief": "\`\`\`hello.txt\nHello from curl.\n\`\`\`\n\n\`\`\`sh\ngrep -c curl hello.txt\n\`\`\`"
    }}]}}}
JSON
  # Each event is one line "data: {…}". A request that is refused is answered with plain JSON instead.
  {
    code=1
    while IFS= read -r line; do
      case $line in
        data:*TASK_RESULT*)
          echo "result: ${line#data: }"
          status=${line#*TASK_RESULT}
          case ${status#*'"status":"'} in done*) code=0 ;; esac
          ;;
        data:*TASK_STATE_*) echo "state: $(grep -o 'TASK_STATE_[A-Z_]*' <<<"$line" | head -n 1)" ;;
        {*) echo "$line" >&2; exit 1 ;;
      esac
    done
    exit "$code"
  }
