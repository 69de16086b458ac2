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
import { type Named, reach } from '../ask/reach.ts';
import type { Answer } from '../ask/rpc.ts';

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
