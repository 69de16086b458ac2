import { type Artifact, Message, type Task, type TaskStatus } from '@a2a-js/sdk';
import type { Question, TaskEvent, TaskRecord } from '@hermes-fleet/ledger';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject, type TaskState } from '@hermes-fleet/protocol';
import { agentMessage, artifactOf, handshakePart, textPart } from './parts.ts';
import { a2aState } from './task-state.ts';

const RESULT_ARTIFACT = 'task-result';
const LATE_ARTIFACT = 'late-result';
const TEXT_ARTIFACT = 'text';

export interface TaskViewOptions {
  /** The maximum number of history messages; all when absent. */
  readonly historyLength?: number | undefined;
  /** Default true. */
  readonly artifacts?: boolean;
  /** The artifacts that the task's executor added. */
  readonly own?: readonly Artifact[];
  /** True if the artifacts of the executor come before those of the result: for a client without the handshake. */
  readonly ownFirst?: boolean;
  /** The task's questions to its caller, oldest first. */
  readonly questions?: readonly Question[];
  /** The TASK_RESULT of a peer that came after the task's end (docs/handshake.md#late-results). */
  readonly late?: JsonObject | undefined;
  /** Becomes Task.metadata. */
  readonly metadata?: JsonObject | undefined;
}

/**
 * Converts a ledger task to an A2A task (docs/handshake.md#task_result). The result is the data part of the artifact
 * `task-result`, beside a human-readable text artifact. Until there is a result, the `text` events among `events` form
 * the text artifact.
 */
export function taskView(
  record: TaskRecord,
  events: readonly TaskEvent[] = [],
  options: TaskViewOptions = {},
): Task {
  return {
    id: record.id,
    contextId: record.contextId,
    status: statusView(record, options.questions),
    artifacts: (options.artifacts ?? true) ? allArtifacts(record, textOf(events), options) : [],
    history: historyOf(record, record.state, options.questions, options.historyLength),
    metadata: options.metadata,
  };
}

function allArtifacts(
  record: TaskRecord,
  textSoFar: string,
  { own = [], ownFirst = false, late }: TaskViewOptions,
): Artifact[] {
  const ofResult = artifactsOf(record, textSoFar);
  const ordered = ownFirst ? [...own, ...ofResult] : [...ofResult, ...own];
  return late ? [...ordered, lateArtifact(late)] : ordered;
}

export function statusView(record: TaskRecord, questions: readonly Question[] = []): TaskStatus {
  const text = statusText(record);
  return {
    state: a2aState(record.state),
    message:
      text === undefined
        ? openQuestion(record, record.state, questions)
        : statusMessage(record, { text, seq: record.lastSeq }),
    timestamp: new Date(record.updatedAt).toISOString(),
  };
}

/** The question that a task in this state waits for, as a status message. */
function openQuestion(
  record: TaskRecord,
  state: TaskState,
  questions: readonly Question[],
): Message | undefined {
  const open = questions.at(-1);
  return open && state === 'input_required' ? statusMessage(record, open) : undefined;
}

export function statusMessage(
  { id, contextId }: TaskRecord,
  { text, seq }: Pick<Question, 'text' | 'seq'>,
): Message {
  return agentMessage({ messageId: `${id}:${seq}`, contextId, taskId: id, text });
}

/** The state of an unfinished task at some event of its log. */
export interface RunningState {
  readonly state: TaskState;
  /** The time of that event, ms since the epoch. */
  readonly at: number;
  /** Its text output up to then. */
  readonly text: string;
  readonly questions: readonly Question[];
  /** The artifacts of its executor up to then. */
  readonly own: readonly Artifact[];
}

/** An unfinished task at some event of its log, for a stream that starts there. */
export function runningView(record: TaskRecord, { state, at, text, questions, own }: RunningState): Task {
  const message = openQuestion(record, state, questions);
  return {
    id: record.id,
    contextId: record.contextId,
    status: { state: a2aState(state), message, timestamp: new Date(at).toISOString() },
    artifacts: [...(text === '' ? [] : [textArtifact(text)]), ...own],
    history: historyOf(record, state, questions, undefined),
    metadata: undefined,
  };
}

export function artifactsOf(record: TaskRecord, textSoFar = ''): Artifact[] {
  const { result } = record;
  if (result === undefined) return textSoFar === '' ? [] : [textArtifact(textSoFar)];
  return [
    resultArtifact(RESULT_ARTIFACT, 'TASK_RESULT of the handshake', result),
    textArtifact(resultText(result)),
  ];
}

function lateArtifact(late: JsonObject): Artifact {
  const description = 'TASK_RESULT that a peer sent after the end of the task, and that does not change it';
  return resultArtifact(LATE_ARTIFACT, description, late);
}

const resultArtifact = (name: string, description: string, result: JsonObject): Artifact =>
  artifactOf(name, [handshakePart(result)], { description, extensions: [HANDSHAKE_EXTENSION] });

export const textArtifact = (text: string): Artifact => artifactOf(TEXT_ARTIFACT, [textPart(text)]);

/** Joins the text deltas of a log. */
export function textOf(events: readonly TaskEvent[]): string {
  return events.map(deltaOf).join('');
}

export function deltaOf(event: TaskEvent): string {
  const text = event.data.text;
  return event.type === 'text' && typeof text === 'string' ? text : '';
}

/** The messages, oldest first. A question without an answer appears only in the status. */
function historyOf(
  record: TaskRecord,
  state: TaskState,
  questions: readonly Question[] = [],
  length: number | undefined,
): Message[] {
  if (length === 0) return [];
  const answered = state === 'input_required' ? questions.slice(0, -1) : questions;
  const messages = [
    callerMessage(record, record.message),
    ...answered.flatMap((question) => [
      statusMessage(record, question),
      ...(question.answer ? [callerMessage(record, question.answer.message)] : []),
    ]),
  ];
  return length === undefined ? messages : messages.slice(-length);
}

function callerMessage({ id, contextId }: TaskRecord, wire: JsonObject): Message {
  return { ...Message.fromJSON(wire), contextId, taskId: id };
}

/** The status message of a result: the reason, and the remaining work. */
function statusText({ state, result }: TaskRecord): string | undefined {
  if (result === undefined) return state === 'canceled' ? 'canceled' : undefined;
  switch (result.status) {
    case 'partial':
      return `partial; remaining: ${strings(result.remaining).join('; ') || 'not said'}`;
    case 'blocked':
      return typeof result.blocked_reason === 'string' ? result.blocked_reason : 'blocked';
    case 'error': {
      const message = isJsonObject(result.error) ? result.error.message : undefined;
      return typeof message === 'string' ? message : 'failed';
    }
    default:
      return undefined;
  }
}

function resultText(result: JsonObject): string {
  const text = result.text;
  if (typeof text === 'string' && text.trim() !== '') return text;
  const { status, tokens_spent: spent, blocked_reason: reason, error } = result;
  const files = isJsonObject(result.artifacts) ? strings(result.artifacts.files_changed) : [];
  const why = reason ?? (isJsonObject(error) ? error.message : undefined);
  return [
    `${String(status)}${typeof why === 'string' ? `: ${why}` : ''}`,
    ...(files.length === 0 ? [] : [`files changed: ${files.join(', ')}`]),
    ...strings(result.remaining).map((item) => `remaining: ${item}`),
    ...strings(result.next_steps).map((item) => `next: ${item}`),
    `tokens spent: ${String(spent)}`,
  ].join('\n');
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
