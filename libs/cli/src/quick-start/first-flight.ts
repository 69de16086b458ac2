import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** The one text of the first request that a newcomer sends: printed by `up`, run by the README's test and the demo. */
const TEMPLATE = new URL('../../../../deploy/first-flight.json', import.meta.url);
const NAME = 'first-flight';

/**
 * The JSON-RPC request of a first flight: a dispatch to `auto` that writes a file and runs two commands. `id` names
 * the task and the message: another one is another task. `requiredMcp` asks for other MCP servers, e.g. one that
 * nobody has, to see the dispatch blocked.
 */
export function firstFlightRequest(o: {
  readonly id: string;
  readonly requiredMcp?: readonly string[];
}): JsonObject {
  const fill = (value: JsonValue): JsonValue => {
    if (value === NAME) return o.id;
    if (Array.isArray(value)) return value.map(fill);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        key === 'required_mcp' && o.requiredMcp ? [...o.requiredMcp] : fill(item ?? null),
      ]),
    );
  };
  const request = fill(JSON.parse(readFileSync(TEMPLATE, 'utf8')));
  if (!isJsonObject(request)) throw new TypeError('first-flight.json must hold an object');
  return request;
}

/** The request as a command for a POSIX shell. `tokenCommand` prints the operator's token. */
export function curlCommand(o: {
  readonly url: string;
  readonly tokenCommand: string;
  readonly request: JsonObject;
}): string {
  const body = JSON.stringify(o.request, null, 2);
  return [
    `curl -sS ${quote(o.url)} \\`,
    `  -H "Authorization: Bearer $(${o.tokenCommand})" \\`,
    "  -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\",
    `  --data-binary ${quote(body)}`,
  ].join('\n');
}

/** A word of a POSIX shell that means exactly this text. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
