import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** The first request that a new user sends. `up` prints it; the demo and the quick-start test send it. */
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

/** The request as a `curl` command for a POSIX shell. `tokenCommand` is a shell command that prints the token. */
export function curlCommand(options: {
  readonly url: string;
  readonly tokenCommand: string;
  readonly request: JsonObject;
}): string {
  const body = JSON.stringify(options.request, null, 2);
  return [
    `curl -sS ${quote(options.url)} \\`,
    `  -H "Authorization: Bearer $(${options.tokenCommand})" \\`,
    "  -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\",
    `  --data-binary ${quote(body)}`,
  ].join('\n');
}

/** Quotes a word for a POSIX shell where needed. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
