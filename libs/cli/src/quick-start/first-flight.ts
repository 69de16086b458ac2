import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { quote } from '../command-line/options.ts';

/** The first request that a new user sends. `up` prints a command that sends it; the demo sends it under ids of its own. */
const TEMPLATE = new URL('../../../../deploy/first-flight.json', import.meta.url);
const PLACEHOLDER = 'first-flight';

/**
 * A JSON-RPC request that dispatches a task to `auto`: write a file and run two commands. `id` becomes the task id and
 * the message id, so every id makes a new task. `requiredMcp` replaces the required MCP servers.
 */
export function firstFlightRequest({
  id,
  requiredMcp,
}: {
  readonly id: string;
  readonly requiredMcp?: readonly string[];
}): JsonObject {
  const fill = (value: JsonValue): JsonValue => {
    if (value === PLACEHOLDER) return id;
    if (Array.isArray(value)) return value.map(fill);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        key === 'required_mcp' && requiredMcp ? [...requiredMcp] : fill(item ?? null),
      ]),
    );
  };
  const request = fill(JSON.parse(readFileSync(TEMPLATE, 'utf8')));
  if (!isJsonObject(request)) throw new TypeError('first-flight.json must hold an object');
  return request;
}

/**
 * A `curl` command for a POSIX shell that sends the first request, on one line, so that it can be pasted from a log that
 * begins each line with a name. `tokenCommand` is a shell command that prints the token, and `root` the checkout as the
 * shell sees it. The request always has the same task id: sent again, it answers with the same task.
 */
export function curlCommand({
  url,
  tokenCommand,
  root,
}: {
  readonly url: string;
  readonly tokenCommand: string;
  readonly root: string;
}): string {
  return `curl -sS ${quote(url)} -H "Authorization: Bearer $(${tokenCommand})" -H 'Content-Type: application/json' -d ${quote(`@${root}/deploy/first-flight.json`)}`;
}
