import { FleetError, isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import {
  decodeAnnounce,
  decodeResult,
  type SessionAnnounce,
  type TaskResult,
} from '@hermes-fleet/protocol/handshake';
import { firstFlightRequest } from '../quick-start/first-flight.ts';

const BRIEF = [
  'Write a note and read it back.',
  '',
  '```note.txt',
  'A plain message, no contract.',
  '```',
  '',
  '```sh',
  'cat note.txt',
  '```',
].join('\n');

/** A plain text message, as any A2A client sends it. */
export function textRequest(id: string, text: string = BRIEF, contextId?: string): JsonObject {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: {
      message: {
        messageId: id,
        role: 'ROLE_USER',
        ...(contextId === undefined ? {} : { contextId }),
        parts: [{ text }],
      },
    },
  };
}

/** The first-flight request with a budget of one token, which every worker refuses. */
export function tinyBudgetRequest(id: string): JsonObject {
  const request = firstFlightRequest({ id });
  const set = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(set);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, key === 'token_budget' ? 1 : set(item ?? null)]),
    );
  };
  const changed = set(request);
  return isJsonObject(changed) ? changed : request;
}

/** The TASK_RESULT in the Task of a JSON-RPC result. Throws PEER_REFUSED when there is none. */
export function resultIn({ task }: JsonObject): TaskResult {
  const artifacts = isJsonObject(task) ? listOf(task.artifacts) : [];
  const wire = artifacts.flatMap(dataOf).find(({ type }) => type === 'TASK_RESULT');
  if (!wire) throw new FleetError('PEER_REFUSED', 'the answer holds no TASK_RESULT');
  return decodeResult(wire);
}

/** The SESSION_ANNOUNCE in the Message of a JSON-RPC result. Throws PEER_REFUSED when there is none. */
export function announceIn({ message }: JsonObject): SessionAnnounce {
  const wire = dataOf(message ?? null).find(({ type }) => type === 'SESSION_ANNOUNCE');
  if (!wire) throw new FleetError('PEER_REFUSED', 'the answer holds no SESSION_ANNOUNCE');
  return decodeAnnounce(wire);
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

function dataOf(holder: JsonValue): JsonObject[] {
  const parts = isJsonObject(holder) ? listOf(holder.parts) : [];
  return parts.flatMap((part) => (isJsonObject(part) && isJsonObject(part.data) ? [part.data] : []));
}
