import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import type { TestProfile } from './test-profile.ts';

/** Calls a profile's JSON-RPC endpoint over plain HTTP, as this caller. */
export async function rpc(
  profile: Pick<TestProfile, 'name' | 'port'>,
  method: string,
  params: JsonObject,
  caller = 'operator',
): Promise<JsonObject> {
  const response = await fetch(`http://127.0.0.1:${profile.port}/jsonrpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer token-of-${caller}-for-${profile.name}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(20_000),
  });
  const reply: JsonValue = JSON.parse(await response.text());
  if (isJsonObject(reply)) return reply;
  throw new Error(`${profile.name} answered ${response.status} and no JSON object`);
}

/** Sends a handshake message and returns the JSON-RPC reply. */
export function sendHandshake(
  profile: Pick<TestProfile, 'name' | 'port'>,
  data: JsonObject,
  caller?: string,
): Promise<JsonObject> {
  const mediaType = 'application/vnd.hermes.handshake+json';
  const message = { messageId: systemIds.uuid(), role: 'ROLE_USER', parts: [{ data, mediaType }] };
  return rpc(profile, 'SendMessage', { message }, caller);
}

/** Finds a handshake message of this type anywhere in a reply; throws without one. */
export function handshakeIn(reply: JsonValue | undefined, type: string): JsonObject {
  const found = search(reply, (value) => value['type'] === type);
  if (found) return found;
  throw new Error(`no ${type} in ${JSON.stringify(reply)}`);
}

function search(
  value: JsonValue | undefined,
  wanted: (value: JsonObject) => boolean,
): JsonObject | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value) && wanted(value)) return value;
  for (const item of Object.values(value)) {
    const found = search(item, wanted);
    if (found) return found;
  }
  return undefined;
}

/** The field violations of an error (google.rpc.BadRequest): path and description. */
export function violations(reply: JsonObject): Map<string, string> {
  const details = search(reply['error'], ({ '@type': type }) =>
    String(type).endsWith('google.rpc.BadRequest'),
  );
  const fields = details?.['fieldViolations'];
  if (!Array.isArray(fields)) return new Map();
  return new Map(
    fields.filter(isJsonObject).map(({ field, description }) => [String(field), String(description)]),
  );
}
