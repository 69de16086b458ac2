import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { readJson, refusal, request, type Target } from './http.ts';

const CALL_MS = 120_000;

/** The result of a JSON-RPC call, and the latency that the caller measured. */
export interface RpcAnswer {
  readonly result: JsonObject;
  readonly ms: number;
}

/**
 * Posts a JSON-RPC request; `body` is sent unchanged. A result counts whatever the HTTP status, except 401. Throws
 * PEER_UNREACHABLE when nothing answers, UNAUTHENTICATED when the token is rejected, and PEER_REFUSED with the service's
 * message for any other answer without a result.
 */
export async function rpc(target: Target, body: string): Promise<RpcAnswer> {
  const startedAt = performance.now();
  const response = await request(target, '/jsonrpc', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'a2a-extensions': HANDSHAKE_EXTENSION,
      authorization: `Bearer ${target.token}`,
    },
    body,
    signal: AbortSignal.timeout(CALL_MS),
  });
  const answer = await readJson(target, response);
  const ms = performance.now() - startedAt;
  if (response.status !== 401 && isJsonObject(answer) && isJsonObject(answer.result))
    return { result: answer.result, ms };
  throw refusal(target, response.status, answer);
}
