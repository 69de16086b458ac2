import { type FieldError, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

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

/** A profile and its address, without a path. */
export interface Named {
  readonly name: string;
  readonly url: string;
}

/** Where and as whom a profile is called. */
export interface Caller extends Named {
  readonly token: string;
}

/** An HTTP request to a profile. Throws PEER_UNREACHABLE when nobody answers. */
export async function reach(profile: Named, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${profile.url}${path}`, init);
  } catch (cause) {
    throw new FleetError('PEER_UNREACHABLE', `${profile.name} does not answer at ${profile.url}`, { cause });
  }
}

/** The JSON of an answer, undefined for what is none. Throws PEER_UNREACHABLE when it breaks off. */
export async function jsonOf(profile: Named, response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw new FleetError('PEER_UNREACHABLE', `${profile.name} did not finish its answer`, { cause });
  }
}
