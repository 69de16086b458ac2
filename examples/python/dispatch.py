"""Sends a dispatch to switch over plain HTTP, follows its stream of events, and prints the result.

Needs Python 3.9 or newer, and nothing else:

    FLEET_TOKEN=$(make -s token) python3 examples/python/dispatch.py
"""

import json
import os
import sys
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("FLEET_URL", "http://127.0.0.1:9219")
TOKEN = os.environ.get("FLEET_TOKEN") or sys.exit("FLEET_TOKEN is not set: FLEET_TOKEN=$(make -s token)")
BRIEF = """```hello.txt
Hello from Python.
```

```sh
grep -c Python hello.txt
```"""


def dispatch(brief, task_id, required_mcp=()):
    """Yields the A2A events of a task, as they come, until it ends.

    The same task_id with the same contract is the same task: after a lost connection, call this again with it.
    """
    contract = {
        "type": "TASK_DISPATCH",
        "protocol_version": "2.0",
        "task": {"task_id": task_id, "reply_schema": "structured", "token_budget": 20000},
        "requirements": {
            "required_mcp": list(required_mcp),
            "required_capabilities": ["terminal", "file"],
        },
        "routing": {"target": "auto"},
        "brief": brief,
    }
    part = {"mediaType": "application/vnd.hermes.handshake+json", "data": contract}
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [part]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message}}
    request = urllib.request.Request(
        f"{URL}/jsonrpc",
        data=json.dumps(call).encode(),
        headers={
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "A2A-Version": "1.0",
            "A2A-Extensions": "urn:hermes-fleet:handshake:2",
        },
    )
    # The timeout is for silence: an open stream has a heartbeat every few seconds.
    with urllib.request.urlopen(request, timeout=60) as response:
        if response.headers.get_content_type() != "text/event-stream":
            raise RuntimeError(json.load(response)["error"]["message"])
        for line in response:
            if line.startswith(b"data:"):
                reply = json.loads(line[len(b"data:"):])
                if "error" in reply:
                    raise RuntimeError(reply["error"]["message"])
                yield reply["result"]


def main():
    result = None
    for event in dispatch(BRIEF, f"python-{uuid.uuid4()}", sys.argv[1:]):
        status = (event.get("statusUpdate") or event.get("task") or {}).get("status")
        if status:
            print("state:", status["state"])
        artifacts = (event.get("task") or {}).get("artifacts", [])
        if "artifactUpdate" in event:
            artifacts = [event["artifactUpdate"]["artifact"]]
        for artifact in artifacts:
            if artifact.get("name") == "task-result":
                result = artifact["parts"][0]["data"]
    if result is None:
        sys.exit("the stream ended before the task: send the same dispatch again")
    print("status:", result["status"], "by", result["executed_by"])
    print("tokens:", result["tokens_spent"])
    print("files:", ", ".join(result["artifacts"]["files_changed"]) or "none")
    if result["status"] != "done":
        sys.exit(result.get("blocked_reason") or result.get("error", {}).get("message") or result["status"])


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as refused:
        sys.exit(f"HTTP {refused.code}: {refused.read().decode()}")
    except (urllib.error.URLError, RuntimeError) as failed:
        sys.exit(str(failed))
