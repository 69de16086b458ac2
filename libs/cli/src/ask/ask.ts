import { type FieldError, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Caller, jsonOf, reach } from './reach.ts';

const ASK_MS = 15_000;

/**
 * Asks a profile over HTTP, with a body when there is one. Throws PEER_UNREACHABLE when nobody answers,
 * UNAUTHENTICATED for a token that is not accepted, and PEER_REFUSED with the profile's own words and every field that
 * it names for anything else that is no answer.
 */
export async function ask(caller: Caller, path: string, body?: JsonObject): Promise<JsonObject> {
  const response = await reach(caller, path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${caller.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ASK_MS),
  });
  const answer = await jsonOf(caller, response);
  if (response.status === 401)
    throw new FleetError('UNAUTHENTICATED', `${caller.name} does not accept the operator's token`);
  if (response.ok && isJsonObject(answer)) return answer;
  const error = isJsonObject(answer) && isJsonObject(answer.error) ? answer.error : {};
  const said = typeof error.message === 'string' ? `: ${error.message}` : '';
  throw new FleetError('PEER_REFUSED', `${caller.name} answered HTTP ${response.status}${said}`, {
    fields: fieldsOf(error),
  });
}

function fieldsOf({ fields }: JsonObject): FieldError[] {
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((field) =>
    isJsonObject(field) ? [{ path: String(field.path), reason: String(field.reason) }] : [],
  );
}
