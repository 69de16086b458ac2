import { hasEnded, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import {
  type PeerArtifact,
  type PeerPart,
  toPeerArtifact,
  toPeerParts,
  WireArtifact,
  WirePart,
} from './peer-part.ts';

/** The fields of a peer's task that the fleet uses. */
export interface PeerTask {
  readonly id: string;
  readonly contextId: string;
  /** The A2A state without its prefix: `submitted`, `working`, `input_required`, `completed`, … */
  readonly state: string;
  readonly terminal: boolean;
  /** The text of the artifacts, or else of the status message. */
  readonly text: string;
  /** The text of the status message: the question when the task waits for an answer. */
  readonly statusText: string;
  /** The id of the status message, unique per question. Not every agent sends it. */
  readonly statusId?: string | undefined;
  /** The time of the status by the agent's clock, ms since the epoch. Not every agent sends it. */
  readonly statusAt?: number | undefined;
  /** The data parts of the artifacts and of the status message. */
  readonly data: readonly JsonObject[];
  readonly artifacts: readonly PeerArtifact[];
  readonly metadata: JsonObject;
  /** The metadata of the update that made this snapshot; only in a stream, and not every agent sends it. */
  readonly updateMetadata?: JsonObject | undefined;
}

/** A task with the ids of the messages in its history; not every agent sends a history. */
export interface ListedTask {
  readonly task: PeerTask;
  readonly messageIds: readonly string[];
}

export type PeerReply =
  | { readonly kind: 'task'; readonly task: PeerTask }
  | {
      readonly kind: 'message';
      readonly contextId?: string;
      readonly text: string;
      readonly data: readonly JsonObject[];
      /** All parts, in order. */
      readonly parts?: readonly PeerPart[];
    };

const json = z.record(z.string(), z.unknown()).nullish();
const Parts = z.array(WirePart).nullish();
const Message = z.looseObject({
  messageId: z.string().nullish(),
  contextId: z.string().nullish(),
  parts: Parts,
});
const Status = z.looseObject({
  state: z.string().max(64),
  message: Message.nullish(),
  timestamp: z.unknown().optional(),
});
export const TaskReply = z.looseObject({
  id: z.string().min(1).max(256),
  contextId: z.string().nullish(),
  status: Status,
  artifacts: z.array(WireArtifact).nullish(),
  history: z.array(Message).nullish(),
  metadata: json,
});

export const ListReply = z.looseObject({
  tasks: z.array(TaskReply).nullish(),
  nextPageToken: z.string().nullish(),
});

export const SendReply = z
  .object({ task: TaskReply.optional(), message: Message.optional() })
  .refine(({ task, message }) => (task === undefined) !== (message === undefined));

export const StreamReply = z.object({
  task: TaskReply.optional(),
  message: Message.optional(),
  statusUpdate: z.object({ status: Status, metadata: json }).optional(),
  artifactUpdate: z
    .object({ artifact: WireArtifact, append: z.boolean().nullish(), lastChunk: z.boolean().nullish() })
    .optional(),
});

export type WireTask = z.output<typeof TaskReply>;

/** Text, data and artifacts are computed on first read: a stream yields a snapshot per event, and few are read. */
export function toPeerTask(task: WireTask, updateMetadata?: JsonObject): PeerTask {
  const state = task.status.state.replace(/^TASK_STATE_/, '').toLowerCase();
  const parts = once(() => (task.artifacts ?? []).flatMap(({ parts }) => parts ?? []));
  const status = task.status.message?.parts ?? [];
  const text = once(() => textOf(parts()) || textOf(status));
  const data = once(() => [...dataOf(parts()), ...dataOf(status)]);
  const terminal = hasEnded(state);
  const artifacts = once(() =>
    (task.artifacts ?? []).map((each) => toPeerArtifact(terminal ? { ...each, isComplete: true } : each)),
  );
  return {
    id: task.id,
    contextId: task.contextId ?? '',
    state,
    terminal,
    get text() {
      return text();
    },
    statusText: textOf(status),
    statusId: task.status.message?.messageId || undefined,
    statusAt: timeOf(task.status.timestamp),
    get data() {
      return data();
    },
    get artifacts() {
      return artifacts();
    },
    metadata: isJsonObject(task.metadata) ? task.metadata : {},
    ...(updateMetadata ? { updateMetadata } : {}),
  };
}

function timeOf(timestamp: unknown): number | undefined {
  const at = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => {
    known ??= { value: read() };
    return known.value;
  };
}

export function toListedTask(task: WireTask): ListedTask {
  const messageIds = (task.history ?? []).flatMap(({ messageId }) => (messageId ? [messageId] : []));
  return { task: toPeerTask(task), messageIds };
}

export function toPeerReply(
  { task, message }: z.output<typeof SendReply>,
  updateMetadata?: JsonObject,
): PeerReply {
  if (task !== undefined) return { kind: 'task', task: toPeerTask(task, updateMetadata) };
  const parts = message?.parts ?? [];
  const contextId = message?.contextId;
  return {
    kind: 'message',
    text: textOf(parts),
    data: dataOf(parts),
    parts: toPeerParts(parts),
    ...(contextId ? { contextId } : {}),
  };
}

/** Applies a stream event to a task; undefined until the stream has sent the task itself. */
export function foldEvent(
  task: WireTask | undefined,
  { task: whole, statusUpdate, artifactUpdate }: z.output<typeof StreamReply>,
): WireTask | undefined {
  if (whole !== undefined) return whole;
  if (task === undefined) return undefined;
  if (statusUpdate !== undefined) return { ...task, status: statusUpdate.status };
  if (artifactUpdate === undefined) return task;
  const { artifact, append, lastChunk } = artifactUpdate;
  return withArtifact(task, { ...artifact, isComplete: lastChunk ?? false }, append ?? false);
}

function withArtifact(task: WireTask, artifact: z.output<typeof WireArtifact>, append: boolean): WireTask {
  const artifacts = [...(task.artifacts ?? [])];
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = artifacts[at];
  if (known === undefined) return { ...task, artifacts: [...artifacts, artifact] };
  artifacts[at] = append
    ? { ...known, isComplete: artifact.isComplete, parts: joined(known.parts ?? [], artifact.parts ?? []) }
    : artifact;
  return { ...task, artifacts };
}

/**
 * Appends the parts of a chunk. Its first text goes on where the last one of the same media type ended, so that a thousand text
 * deltas become one part, as in the task of which a fleet's peer sends them.
 */
function joined(known: readonly WirePart[], more: readonly WirePart[]): WirePart[] {
  const last = known.at(-1);
  const [first, ...rest] = more;
  if (typeof last?.text !== 'string' || typeof first?.text !== 'string') return [...known, ...more];
  if ((last.mediaType || '') !== (first.mediaType || '')) return [...known, ...more];
  return [...known.slice(0, -1), { ...last, text: `${last.text}${first.text}` }, ...rest];
}

function textOf(parts: readonly WirePart[]): string {
  return parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

function dataOf(parts: readonly WirePart[]): JsonObject[] {
  return parts.flatMap(({ data }) => (isJsonObject(data) ? [data] : []));
}
