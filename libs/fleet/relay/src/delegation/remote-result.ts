import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { FleetError, isJsonObject, type JsonObject, type JsonValue, majorOf } from '@hermes-fleet/protocol';
import {
  bareResult,
  outputProblems,
  type ReplySchema,
  readResult,
  type TaskResult,
  versionOf,
} from '@hermes-fleet/protocol/handshake';
import type { Log, RunOutcome } from '@hermes-fleet/protocol/ports';
import { findHandshake } from '@hermes-fleet/protocol/prose';

/** The parts of a peer's answer that a result is read from. */
export type PeerAnswer = Pick<PeerTask, 'text' | 'data'> & { readonly state: string };

/** The reply that the dispatch requires. */
export interface ResultContract {
  /** The task ID in the payload, and so in the result. */
  readonly taskId: string;
  readonly replySchema: ReplySchema;
  /** JSON Schema of `output` when a JSON reply is required. */
  readonly outputSchema?: JsonObject | undefined;
  /** The version of the dispatch. Without it, results of every major version are read. */
  readonly protocolVersion?: string | undefined;
  /** The peer, and the log that names the invalid fields of its result. */
  readonly endpoint?: { readonly name: string };
  readonly log?: Pick<Log, 'warn'>;
}

export interface JudgedResult {
  readonly result: TaskResult;
  /** The part of the required reply that is missing. */
  readonly missed?: string;
  /** The agent sent a TASK_RESULT, not only prose. */
  readonly reported: boolean;
}

/** Treats a Message as the answer of a completed task. */
export function answerOf(reply: PeerReply & { kind: 'message' }): PeerAnswer {
  return { state: 'completed', text: reply.text, data: reply.data };
}

export function resultOf(task: PeerAnswer, contract: ResultContract): TaskResult {
  return judgeAnswer(task, contract).result;
}

/**
 * Reads the TASK_RESULT of a peer's ended task from a data part, or else from a JSON object in its text. Without one, the
 * text is the result, and `done` only when prose was required (docs/handshake.md#from-a-prose-peer). A `done` result
 * without the required output becomes `partial`, and one of a task that did not complete an error. A result of another
 * major version than the dispatch is not read (docs/handshake.md#contradictions). Throws PEER_REFUSED for an unreadable
 * data part or another task's result.
 */
export function judgeAnswer(task: PeerAnswer, contract: ResultContract): JudgedResult {
  const wire = task.data.find(({ type }) => type === 'TASK_RESULT');
  if (wire && isForeign(wire, contract))
    return { reported: true, result: foreignResult(task, wire, contract) };
  if (wire) return checkState(task.state, structuredResult(wire, contract), contract);
  const { result, prose, problem } = findHandshake(task.text, contract.taskId);
  if (!result) return proseResult(task, contract, problem);
  if (isForeign(result, contract)) return proseResult(task, contract, `its version is ${versionOf(result)}`);
  return checkState(task.state, selfReportedResult(readWithNote(result, contract), prose), contract);
}

/** Only a completed task is done, whatever its result says. */
function checkState(state: string, result: TaskResult, contract: ResultContract): JudgedResult {
  if (result.status !== 'done' || state === 'completed') return checkOutput(result, contract);
  return { reported: true, result: endedAs(state, result, 'although its TASK_RESULT says done') };
}

function isForeign(wire: JsonObject, { protocolVersion }: ResultContract): boolean {
  const major = majorOf(versionOf(wire));
  return protocolVersion !== undefined && major !== undefined && major !== majorOf(protocolVersion);
}

/** The result in a version in which every field may mean something else. The task's state is A2A's, and still counts. */
function foreignResult({ state, text }: PeerAnswer, wire: JsonObject, contract: ResultContract): TaskResult {
  const version = versionOf(wire);
  const detail = `its TASK_RESULT has version ${version}, while the dispatch has ${contract.protocolVersion}`;
  const base = { ...emptyResult(contract.taskId), evidence: [TOKENS_NOT_REPORTED], text };
  if (state !== 'rejected') return endedAs(state, { ...base, status: 'error' }, `and ${detail}`);
  const unmet = [{ kind: 'version' as const, name: version, detail, transient: false }];
  return { ...base, status: 'blocked', blockedReason: detail, unmet };
}

/** Returns the first announce in the answer's data parts, and the last one in its text. */
export function announcesIn({ data, text }: Pick<PeerAnswer, 'data' | 'text'>): JsonObject[] {
  const { announce } = findHandshake(text);
  const given = data.filter(({ type }) => type === 'SESSION_ANNOUNCE').slice(0, 1);
  return announce ? [...given, announce] : given;
}

/**
 * Leaves out the IDs, token counts, duration and attempts, which the task runner fills in. The peer may have passed the task
 * on, so `executed_by` is its word, but cannot be nobody or the agent that asked (docs/handshake.md#contradictions).
 */
export function outcomeOf(result: TaskResult, peer: string, asker?: string): RunOutcome {
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
  return { ...outcome, executedBy: executorOf(result, peer, asker) };
}

/** The agent that did the work, by the peer's word, if that is somebody. */
export function executorOf({ executedBy = '' }: TaskResult, peer: string, asker?: string): string {
  return executedBy === '' || executedBy === asker ? peer : executedBy;
}

export function emptyResult(taskId: string): Omit<TaskResult, 'status'> {
  return { ...bareResult(taskId), usage: { ...UNKNOWN_USAGE, source: 'reported' } };
}

export function hasResult(task: PeerAnswer): boolean {
  return task.data.some(({ type }) => type === 'TASK_RESULT');
}

function structuredResult(wire: JsonObject, contract: ResultContract): TaskResult {
  const result = decoded(wire, contract);
  if (result.taskId === contract.taskId) return result;
  throw new FleetError('PEER_REFUSED', "the peer's TASK_RESULT is about another task (task_id)");
}

const MAX_NAMED = 10;

/** Reads a result, and says in it and in the log which of its fields were invalid (docs/handshake.md#task_result). */
function readWithNote(wire: JsonObject, { endpoint, log }: ResultContract): TaskResult {
  const { result, dropped } = readResult(wire);
  if (dropped.length === 0) return result;
  const more = dropped.length > MAX_NAMED ? ` and ${dropped.length - MAX_NAMED} more` : '';
  const fields = `${dropped.slice(0, MAX_NAMED).join(', ')}${more}`;
  log?.warn(
    { peer: endpoint?.name, task_id: result.taskId, fields },
    "invalid fields of a peer's result left out",
  );
  const note = `the peer's result had invalid fields, which were left out: ${fields}`;
  return { ...result, nextSteps: [...result.nextSteps, note] };
}

function decoded(wire: JsonObject, contract: ResultContract): TaskResult {
  try {
    return readWithNote(wire, contract);
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
const TOKENS_NOT_REPORTED = {
  kind: 'claimed' as const,
  detail: 'the agent did not say how many tokens it spent',
};
const UNCONFIRMED = 'the result is as the agent reported it: nothing in it was verified here';

/**
 * Marks everything in a result that an agent wrote into its text, counts and evidence included, as claimed. It names no branch
 * from which files could be read.
 */
function selfReportedResult(reported: TaskResult, prose: string): TaskResult {
  const { executedBy: _name, evidence = [], ...result } = reported;
  const { delivery: _unverified, ...artifacts } = result.artifacts;
  return {
    ...result,
    artifacts,
    text: reported.text ?? prose,
    usage: { ...(reported.usage ?? UNKNOWN_USAGE), source: 'reported' },
    evidence: [
      ...evidence.map((each) => ({ ...each, kind: 'claimed' as const })),
      { kind: 'claimed', detail: UNCONFIRMED },
      ...(reported.tokensSpent === 0 ? [TOKENS_NOT_REPORTED] : []),
    ],
  };
}

function checkOutput(result: TaskResult, { replySchema, outputSchema }: ResultContract): JudgedResult {
  if (replySchema !== 'json' || result.status !== 'done') return { reported: true, result };
  const problems = problemsInOutput(result.output, outputSchema);
  if (problems.length === 0) return { reported: true, result };
  const missed = `the output that was asked for: ${problems.join('; ')}`;
  const remaining = [...(result.remaining ?? []), missed];
  return { reported: true, missed, result: { ...result, status: 'partial', remaining } };
}

function proseResult(task: PeerAnswer, contract: ResultContract, problem: string | undefined): JudgedResult {
  const { state, text } = task;
  const base: Omit<TaskResult, 'status'> = {
    ...emptyResult(contract.taskId),
    evidence: [TOKENS_NOT_REPORTED],
    text,
  };
  if (state === 'rejected') {
    const blockedReason = `the peer rejected the task${text === '' ? ' without a reason' : `: ${text.slice(0, 500)}`}`;
    return { reported: false, result: { ...base, status: 'blocked', blockedReason } };
  }
  if (state !== 'completed') return { reported: false, result: endedAs(state, { ...base, status: 'error' }) };
  if (contract.replySchema === 'prose') return { reported: false, result: { ...base, status: 'done' } };
  const missed = problem ?? 'it has no TASK_RESULT';
  const output = contract.replySchema === 'json' ? jsonOutputIn(text, contract.outputSchema) : undefined;
  const remaining = [`a ${contract.replySchema} reply: the peer answered in prose (${missed})`];
  return {
    missed,
    reported: false,
    result: { ...base, status: 'partial', remaining, ...(output === undefined ? {} : { output }) },
  };
}

function endedAs(state: string, result: TaskResult, why = 'without a TASK_RESULT that says why'): TaskResult {
  const code = state === 'canceled' ? 'canceled' : 'peer_failed';
  const message = `the peer ended the task as ${state}, ${why}`;
  return { ...result, status: 'error', error: { code, message, retryable: false } };
}

const MAX_PROBLEMS = 5;

function problemsInOutput(output: unknown, schema: JsonObject | undefined): string[] {
  if (output === undefined) return ['there is no output'];
  if (schema === undefined || !isJsonValue(output)) return [];
  return outputProblems(schema, output).slice(0, MAX_PROBLEMS);
}

const FENCED = /^(?:`{3}|~{3})[A-Za-z]*\r?\n([\s\S]*)\n(?:`{3}|~{3})$/;

/** The text as JSON, bare or in one code fence, if it satisfies the schema. */
function jsonOutputIn(text: string, schema: JsonObject | undefined): JsonValue | undefined {
  const whole = text.trim();
  try {
    const value: JsonValue = JSON.parse(FENCED.exec(whole)?.[1] ?? whole);
    return problemsInOutput(value, schema).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

function isJsonValue(value: unknown): value is JsonValue {
  return value === null || isJsonObject(value) || Array.isArray(value) || typeof value !== 'object';
}
