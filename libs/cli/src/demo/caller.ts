import {
  decodeAnnounce,
  decodeResult,
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SessionAnnounce,
  type TaskResult,
} from '@hermes-fleet/protocol';

import { type Caller, jsonOf, type Named, reach } from '../ask/reach.ts';

export type { Caller } from '../ask/reach.ts';

const CALL_MS = 120_000;
const LOOK_MS = 3_000;

/** What came back for one message, and how long it took as the caller saw it. */
export interface Answer {
  readonly result: JsonObject;
  readonly ms: number;
}

/**
 * Posts one JSON-RPC request as it stands. Throws PEER_UNREACHABLE when nobody answers, UNAUTHENTICATED for a token
 * that is not accepted, PEER_REFUSED with the profile's own message for anything else that is no result.
 */
export async function call(caller: Caller, request: JsonObject): Promise<Answer> {
  const startedAt = performance.now();
  const response = await reach(caller, '/jsonrpc', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'a2a-extensions': HANDSHAKE_EXTENSION,
      authorization: `Bearer ${caller.token}`,
    },
    body: JSON.stringify(request),
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

/** The text of a page that needs no token. Throws PEER_UNREACHABLE. */
export async function look(profile: Named, path: string): Promise<string> {
  const response = await reach(profile, path, { signal: AbortSignal.timeout(LOOK_MS) });
  return response.text();
}

/** The TASK_RESULT in the Task of an answer. Throws PEER_REFUSED where there is none. */
export function resultIn(answer: Answer): TaskResult {
  const task = answer.result.task;
  const artifacts = isJsonObject(task) ? listOf(task.artifacts) : [];
  const wire = artifacts.flatMap(dataOf).find(({ type }) => type === 'TASK_RESULT');
  if (!wire) throw new FleetError('PEER_REFUSED', 'the answer holds no TASK_RESULT');
  return decodeResult(wire);
}

/** The SESSION_ANNOUNCE in the Message of an answer. Throws PEER_REFUSED where there is none. */
export function announceIn(answer: Answer): SessionAnnounce {
  const wire = dataOf(answer.result.message ?? null).find(({ type }) => type === 'SESSION_ANNOUNCE');
  if (!wire) throw new FleetError('PEER_REFUSED', 'the answer holds no SESSION_ANNOUNCE');
  return decodeAnnounce(wire);
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

function dataOf(holder: JsonValue): JsonObject[] {
  const parts = isJsonObject(holder) ? listOf(holder.parts) : [];
  return parts.flatMap((part) => (isJsonObject(part) && isJsonObject(part.data) ? [part.data] : []));
}
