import { FleetError, HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Caller, jsonOf, reach } from './http.ts';

const CALL_MS = 120_000;

/** What came back for one request, and how long it took as the caller saw it. */
export interface Answer {
  readonly result: JsonObject;
  readonly ms: number;
}

/**
 * Posts the text of one JSON-RPC request as it stands. A result counts whatever the HTTP status. Throws
 * PEER_UNREACHABLE when nobody answers, UNAUTHENTICATED for a token that is not accepted, PEER_REFUSED with the
 * service's own message for anything else that is no result.
 */
export async function rpc(caller: Caller, request: string): Promise<Answer> {
  const startedAt = performance.now();
  const response = await reach(caller, '/jsonrpc', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'a2a-extensions': HANDSHAKE_EXTENSION,
      authorization: `Bearer ${caller.token}`,
    },
    body: request,
    signal: AbortSignal.timeout(CALL_MS),
  });
  const body = await jsonOf(caller, response);
  const ms = performance.now() - startedAt;
  if (response.status === 401)
    throw new FleetError('UNAUTHENTICATED', `${caller.name} does not accept the operator's token`);
  if (isJsonObject(body) && isJsonObject(body.result)) return { result: body.result, ms };
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error.message : undefined;
  throw new FleetError(
    'PEER_REFUSED',
    `${caller.name} answered HTTP ${response.status}${typeof error === 'string' ? `: ${error}` : ''}`,
  );
}
