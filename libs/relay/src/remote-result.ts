import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { findHandshake } from '@hermes-fleet/prose';
import {
  decodeResult,
  FleetError,
  type JsonObject,
  PROTOCOL_VERSION,
  type ReplySchema,
  type RunOutcome,
  type TaskResult,
} from '@hermes-fleet/protocol';
import { jsonIn, outputMisses } from './output-check.ts';

/** A peer's answer, as far as a result can be read from it. */
export type Answer = Pick<PeerTask, 'text' | 'data'> & { readonly state: string };

/** What a result is measured by. */
export interface Asked {
  /** The task's id in the payload, and so in the result. */
  readonly taskId: string;
  readonly replySchema: ReplySchema;
  /** What `output` must be where JSON is asked for. */
  readonly outputSchema?: JsonObject | undefined;
}

/** A result, and what of the reply that was asked for is missing in it. */
export interface Judged {
  readonly result: TaskResult;
  readonly missed?: string;
  /** Whether the agent gave a TASK_RESULT, and not prose alone. */
  readonly reported: boolean;
}

/** A peer's answer without a task, as that of a task which has ended. */
export function answerOf(reply: PeerReply & { kind: 'message' }): Answer {
  return { state: 'completed', text: reply.text, data: reply.data };
}

/** The result of a peer that answered without a task: taken as finished work. */
export function resultOfMessage(reply: PeerReply & { kind: 'message' }, asked: Asked): TaskResult {
  return resultOf(answerOf(reply), asked);
}

/** The result in a peer's answer; see `judge`. */
export function resultOf(task: Answer, asked: Asked): TaskResult {
  return judge(task, asked).result;
}

/**
 * The TASK_RESULT in a peer's ended task: a data part, else a JSON object in its text. A peer that gives none is a prose
 * peer: its text is the result, `done` only where prose was asked for; and what claims to be done without the output
 * that was asked for is `partial` (design 2, TASK_DISPATCH and Prose peers). Throws PEER_REFUSED for a data part that
 * breaks the contract or is about another task.
 */
export function judge(task: Answer, asked: Asked): Judged {
  const wire = task.data.find(({ type }) => type === 'TASK_RESULT');
  if (wire) return fitted(structuredResult(wire, asked.taskId), asked);
  const { result, prose, problem } = findHandshake(task.text, asked.taskId);
  if (!result) return proseResult(task, asked, problem);
  const written = writtenResult(decodeResult(result), prose);
  if (written.status !== 'done' || task.state === 'completed') return fitted(written, asked);
  return { reported: true, result: endedAs(task.state, written) };
}

/** The first announce among the data parts of a peer's answer, and the last in its text (phase 2 of the source). */
export function announcesIn({ data, text }: Pick<Answer, 'data' | 'text'>): JsonObject[] {
  const { announce } = findHandshake(text);
  const given = data.filter(({ type }) => type === 'SESSION_ANNOUNCE').slice(0, 1);
  return announce ? [...given, announce] : given;
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

/** A result that says nothing yet, of a peer that has said nothing. */
export function emptyResult(taskId: string): Omit<TaskResult, 'status'> {
  return {
    type: 'TASK_RESULT',
    protocolVersion: PROTOCOL_VERSION,
    taskId,
    tokensSpent: 0,
    usage: { ...UNKNOWN_USAGE, source: 'reported' },
    nextSteps: [],
    blockedReason: null,
    artifacts: { filesChanged: [] },
  };
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

const UNKNOWN_USAGE = { inputTokens: 0, outputTokens: 0, model: 'unknown' };
const UNSAID = { kind: 'claimed' as const, detail: 'the agent did not say how many tokens it spent' };
const UNCONFIRMED = 'the result is what the agent wrote about itself: nothing of it was confirmed here';

/** A result that an agent wrote into its text: all of it, figures and evidence too, is its own word. */
function writtenResult(said: TaskResult, prose: string): TaskResult {
  const { executedBy: _name, evidence = [], ...result } = said;
  return {
    ...result,
    text: said.text ?? prose,
    usage: { ...(said.usage ?? UNKNOWN_USAGE), source: 'reported' },
    evidence: [
      ...evidence.map((each) => ({ ...each, kind: 'claimed' as const })),
      { kind: 'claimed', detail: UNCONFIRMED },
      ...(said.tokensSpent === 0 ? [UNSAID] : []),
    ],
  };
}

function fitted(result: TaskResult, { replySchema, outputSchema }: Asked): Judged {
  if (replySchema !== 'json' || result.status !== 'done') return { reported: true, result };
  const problems = outputMisses(result.output, outputSchema);
  if (problems.length === 0) return { reported: true, result };
  const missed = `the output that was asked for: ${problems.join('; ')}`;
  const remaining = [...(result.remaining ?? []), missed];
  return { reported: true, missed, result: { ...result, status: 'partial', remaining } };
}

function proseResult(task: Answer, asked: Asked, problem: string | undefined): Judged {
  const { state, text } = task;
  const base: Omit<TaskResult, 'status'> = {
    type: 'TASK_RESULT',
    protocolVersion: PROTOCOL_VERSION,
    taskId: asked.taskId,
    tokensSpent: 0,
    usage: { ...UNKNOWN_USAGE, source: 'reported' },
    nextSteps: [],
    blockedReason: null,
    artifacts: { filesChanged: [] },
    evidence: [UNSAID],
    text,
  };
  if (state === 'rejected') {
    const blockedReason = `the peer rejected the task${text === '' ? ' without a reason' : `: ${text.slice(0, 500)}`}`;
    return { reported: false, result: { ...base, status: 'blocked', blockedReason } };
  }
  if (state !== 'completed') return { reported: false, result: endedAs(state, { ...base, status: 'error' }) };
  if (asked.replySchema === 'prose') return { reported: false, result: { ...base, status: 'done' } };
  const missed = problem ?? 'it has no TASK_RESULT';
  const output = asked.replySchema === 'json' ? jsonIn(text, asked.outputSchema) : undefined;
  const remaining = [`a ${asked.replySchema} reply: the peer answered in prose (${missed})`];
  return {
    missed,
    reported: false,
    result: { ...base, status: 'partial', remaining, ...(output === undefined ? {} : { output }) },
  };
}

function endedAs(state: string, result: TaskResult): TaskResult {
  const code = state === 'canceled' ? 'canceled' : 'peer_failed';
  const message = `the peer ended the task as ${state}, without a TASK_RESULT that says why`;
  return { ...result, status: 'error', error: { code, message, retryable: false } };
}
