import { type Artifact, Message, type Task, type TaskStatus } from '@a2a-js/sdk';
import type { Question, TaskEvent, TaskRecord, TaskState } from '@hermes-fleet/ledger';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { agentMessage, handshakePart, textPart } from './parts.ts';
import { a2aState } from './task-state.ts';

export const RESULT_ARTIFACT = 'task-result';
export const TEXT_ARTIFACT = 'text';

export interface TaskViewOptions {
  /** The most messages of the history to show; all when absent. */
  readonly historyLength?: number | undefined;
  /** Default true. */
  readonly artifacts?: boolean;
  /** What the task asked its caller, the latest last. */
  readonly questions?: readonly Question[];
  /** Becomes Task.metadata: the only place for what A2A does not know. */
  readonly metadata?: JsonObject | undefined;
}

/**
 * A task of the ledger as A2A shows it (design 2, the table of TASK_RESULT). The result is the data part of the
 * artifact `task-result`, beside a text artifact for people. Until there is a result, `text` events among `events`
 * make up the text artifact.
 */
export function taskView(
  record: TaskRecord,
  events: readonly TaskEvent[] = [],
  o: TaskViewOptions = {},
): Task {
  return {
    id: record.id,
    contextId: record.contextId,
    status: statusView(record, o.questions),
    artifacts: (o.artifacts ?? true) ? artifactsOf(record, textOf(events)) : [],
    history: historyOf(record, record.state, o.questions, o.historyLength),
    metadata: o.metadata,
  };
}

export function statusView(record: TaskRecord, questions: readonly Question[] = []): TaskStatus {
  const text = statusText(record);
  return {
    state: a2aState(record.state),
    message:
      text === undefined
        ? openQuestion(record, record.state, questions)
        : statusMessage(record, text, record.lastSeq),
    timestamp: new Date(record.updatedAt).toISOString(),
  };
}

/** What a task in this state waits to be told, as its status says it. */
function openQuestion(
  record: TaskRecord,
  state: TaskState,
  questions: readonly Question[],
): Message | undefined {
  const open = questions.at(-1);
  return open && state === 'input_required' ? questionMessage(record, open) : undefined;
}

export function questionMessage(record: TaskRecord, { text, seq }: Question): Message {
  return statusMessage(record, text, seq);
}

export function statusMessage(record: TaskRecord, text: string, seq: number): Message {
  const { id, contextId } = record;
  return agentMessage({ messageId: `${id}:${seq}`, contextId, taskId: id, text });
}

/** Where a task that has not ended stood. */
export interface RunningState {
  readonly state: TaskState;
  /** Since when, ms since the epoch. */
  readonly at: number;
  /** What it had said. */
  readonly text: string;
  /** What it had asked. */
  readonly questions: readonly Question[];
}

/** A task as it stood while it ran, for a stream that starts in the middle of its log. */
export function runningView(record: TaskRecord, { state, at, text, questions }: RunningState): Task {
  const message = openQuestion(record, state, questions);
  return {
    id: record.id,
    contextId: record.contextId,
    status: { state: a2aState(state), message, timestamp: new Date(at).toISOString() },
    artifacts: text === '' ? [] : [textArtifact(text)],
    history: historyOf(record, state, questions, undefined),
    metadata: undefined,
  };
}

export function artifactsOf(record: TaskRecord, textSoFar = ''): Artifact[] {
  const { result } = record;
  if (result === undefined) return textSoFar === '' ? [] : [textArtifact(textSoFar)];
  return [
    {
      artifactId: RESULT_ARTIFACT,
      name: RESULT_ARTIFACT,
      description: 'TASK_RESULT of the handshake',
      parts: [handshakePart(result)],
      metadata: undefined,
      extensions: [HANDSHAKE_EXTENSION],
    },
    textArtifact(resultText(result)),
  ];
}

export function textArtifact(text: string): Artifact {
  return {
    artifactId: TEXT_ARTIFACT,
    name: TEXT_ARTIFACT,
    description: '',
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
  };
}

/** The text deltas of a log, as one text. */
export function textOf(events: readonly TaskEvent[]): string {
  return events.map(deltaOf).join('');
}

export function deltaOf(event: TaskEvent): string {
  const text = event.data.text;
  return event.type === 'text' && typeof text === 'string' ? text : '';
}

/** What was said, the latest last. The question that waits for its answer stands in the status alone. */
function historyOf(
  record: TaskRecord,
  state: TaskState,
  questions: readonly Question[] = [],
  length: number | undefined,
): Message[] {
  if (length === 0) return [];
  const told = state === 'input_required' ? questions.slice(0, -1) : questions;
  const messages = [
    callerMessage(record, record.message),
    ...told.flatMap((question) => [
      questionMessage(record, question),
      ...(question.answer ? [callerMessage(record, question.answer.message)] : []),
    ]),
  ];
  return length === undefined ? messages : messages.slice(-length);
}

function callerMessage({ id, contextId }: TaskRecord, wire: JsonObject): Message {
  return { ...Message.fromJSON(wire), contextId, taskId: id };
}

/** What a status says to people beyond its state: why, and what is left. */
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
