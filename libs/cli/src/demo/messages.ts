import {
  decodeAnnounce,
  decodeResult,
  FleetError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SessionAnnounce,
  type TaskResult,
} from '@hermes-fleet/protocol';
import { type Named, reach } from '../client/http.ts';
import type { Answer } from '../client/rpc.ts';
import { firstFlightRequest } from '../quick-start/first-flight.ts';

const LOOK_MS = 3_000;

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

/** A message of text alone, as any A2A client sends it; `contextId` goes on in a context. */
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

/** The first flight with a budget that no executor can start on: every worker that is asked refuses it. */
export function poorRequest(id: string): JsonObject {
  const request = firstFlightRequest({ id });
  const set = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(set);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, key === 'token_budget' ? 1 : set(item ?? null)]),
    );
  };
  const poor = set(request);
  return isJsonObject(poor) ? poor : request;
}
