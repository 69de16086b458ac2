import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import {
  decodeResult,
  FleetError,
  type JsonObject,
  PROTOCOL_VERSION,
  type ReplySchema,
  type RunOutcome,
  type TaskResult,
} from '@hermes-fleet/protocol';

type Answer = Pick<PeerTask, 'text' | 'data'> & { readonly state: string };

/** A peer's answer without a task: taken as finished work. */
export function resultOfMessage(
  reply: PeerReply & { kind: 'message' },
  asked: ReplySchema,
  taskId: string,
): TaskResult {
  return resultOf({ state: 'completed', text: reply.text, data: reply.data }, asked, taskId);
}

/**
 * The TASK_RESULT in a peer's ended task. A peer that gives none is a prose peer: its text is the result, `done` only
 * where prose was asked for (design 2, Prose peers). Throws PEER_REFUSED for a TASK_RESULT that breaks the contract or
 * is about another task than `taskId`.
 */
export function resultOf(task: Answer, asked: ReplySchema, taskId: string): TaskResult {
  const wire = task.data.find(({ type }) => type === 'TASK_RESULT');
  return wire ? structuredResult(wire, taskId) : proseResult(task, asked, taskId);
}

/** What of a peer's result is handed on; ids, figures and attempts are the runner's. */
export function outcomeOf(result: TaskResult, peer: string): RunOutcome {
  const {
    type: _type,
    protocolVersion: _version,
    taskId: _id,
    tokensSpent: _spent,
    usage: _usage,
    durationMs: _duration,
    attempts: _attempts,
    ...outcome
  } = result;
  return { ...outcome, executedBy: result.executedBy ?? peer };
}

export function hasResult(task: Answer): boolean {
  return task.data.some(({ type }) => type === 'TASK_RESULT');
}

function structuredResult(wire: JsonObject, taskId: string): TaskResult {
  const result = decoded(wire);
  if (result.taskId === taskId) return result;
  throw new FleetError('PEER_REFUSED', "the peer's TASK_RESULT is about another task (task_id)");
}

function decoded(wire: JsonObject): TaskResult {
  try {
    return decodeResult(wire);
  } catch (error) {
    const { fields } = FleetError.from(error);
    const wrong = fields.map(({ path }) => path).join(', ');
    throw new FleetError('PEER_REFUSED', `the peer's TASK_RESULT is not valid (${wrong})`, {
      fields,
      cause: error,
    });
  }
}

function proseResult({ state, text }: Answer, asked: ReplySchema, taskId: string): TaskResult {
  const base = {
    type: 'TASK_RESULT' as const,
    protocolVersion: PROTOCOL_VERSION,
    taskId,
    tokensSpent: 0,
    nextSteps: [],
    blockedReason: null,
    artifacts: { filesChanged: [] },
    text,
  };
  if (state === 'rejected')
    return { ...base, status: 'blocked', blockedReason: 'the peer rejected the task without a reason' };
  if (state !== 'completed') {
    const code = state === 'canceled' ? 'canceled' : 'peer_failed';
    const message = `the peer ended the task as ${state}, without a TASK_RESULT`;
    return { ...base, status: 'error', error: { code, message, retryable: false } };
  }
  if (asked === 'prose') return { ...base, status: 'done' };
  return { ...base, status: 'partial', remaining: [`a ${asked} reply: the peer answered in prose`] };
}
