import type { JsonObject, TaskState } from '@hermes-fleet/protocol';
import type {
  ArtifactChunk,
  ArtifactPart,
  Count,
  EarlierConversation,
  OutboxSource,
  TokenEntry,
  TokenStore,
} from '@hermes-fleet/protocol/ports';
import type { ArtifactLimits, StoredChunk } from './artifact-types.ts';
import type { LedgerContexts } from './context-types.ts';
import type { Figures } from './figure-types.ts';
import type { LedgerJoins } from './joins.ts';
import type { LedgerPush } from './push-types.ts';

export interface TaskRecord {
  /** The A2A task id. */
  readonly id: string;
  readonly contextId: string;
  readonly caller: string;
  /** The caller's name for the task (`task.task_id`); with `caller`, the idempotency key. */
  readonly key: string;
  readonly state: TaskState;
  /** The A2A message as JSON. */
  readonly message: JsonObject;
  /** The TASK_DISPATCH, as wire JSON. */
  readonly dispatch: JsonObject;
  /** The TASK_RESULT, as wire JSON, once the task has ended. */
  readonly result: JsonObject | undefined;
  readonly resumes: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The sequence of the task's latest event. */
  readonly lastSeq: number;
  /** The `traceparent` of the request that created the task (W3C Trace Context). */
  readonly traceparent?: string;
  /**
   * The fields `root_id`, `root_caller`, `parent_task_id` and `parent_profile` of its events; absent for the first task of a
   * chain, whose events have its own key and caller (docs/events.md#the-body).
   */
  readonly lineage?: JsonObject;
}

export interface NewTask {
  readonly id: string;
  readonly contextId: string;
  readonly caller: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly message: JsonObject;
  readonly dispatch: JsonObject;
  readonly traceparent?: string;
  /** See `TaskRecord.lineage`. */
  readonly lineage?: JsonObject;
  /** The data of its event `submitted`; empty if absent. */
  readonly submitted?: JsonObject;
  /** The time after which the task is not accepted if it is new, ms since the epoch. */
  readonly acceptUntil?: number | undefined;
}

/** The checkpoint of an ended task that a peer may still be doing. */
export interface KeptCheckpoint {
  readonly taskId: string;
  readonly state: JsonObject;
}

/** An entry of a task's append-only log. `seq` is global to the ledger and strictly increasing. */
export interface TaskEvent {
  readonly seq: number;
  readonly taskId: string;
  /** The name of a lifecycle event, or `text` for a text delta, which is never published. */
  readonly type: string;
  readonly at: number;
  readonly data: JsonObject;
}

export interface NewEvent {
  readonly type: string;
  readonly data: JsonObject;
}

/** An event that follows `submitted` in the transaction that accepts a task, and its change. */
export interface FollowingEvent {
  readonly event: NewEvent;
  readonly change?: TaskChange | undefined;
}

/** A task that was accepted under an idempotency key. */
export interface KnownTask {
  readonly task: TaskRecord;
  /** The fingerprint of its dispatch. */
  readonly fingerprint: string;
}

export interface TaskChange {
  readonly state?: TaskState;
  readonly result?: JsonObject;
  readonly resumes?: number;
  /** Added to the totals in the same transaction. */
  readonly counts?: readonly Count[];
}

/** A question of a task to its caller (docs/handshake.md#asking). */
export interface Question {
  /** The run's name for the question, unique in its task. */
  readonly key: string;
  /** The sequence of its `input_required` event, which does not contain its text. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly text: string;
  readonly answer: Answer | undefined;
  /** The time of its withdrawal, ms since the epoch. */
  readonly withdrawnAt?: number;
}

export interface Answer {
  readonly messageId: string;
  readonly text: string;
  /** The A2A message as JSON. */
  readonly message: JsonObject;
}

export interface TaskQuery {
  readonly caller?: string;
  readonly contextId?: string;
  readonly states?: readonly TaskState[];
  /** Only tasks updated at or after this time, ms since the epoch. */
  readonly updatedAfter?: number;
  /** 1 to 100. */
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface TaskPage {
  readonly tasks: readonly TaskRecord[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

export interface PeerRecord {
  readonly agentId: string;
  /** The SESSION_ANNOUNCE as wire JSON. */
  readonly announce: JsonObject;
  readonly receivedAt: number;
  /** The owner of the announce's token; absent without one. */
  readonly caller?: string;
}

/** The token account of each task; `tier` is the label of the tokens in the totals. */
export interface LedgerTokens extends TokenStore {
  reserve(taskId: string, estimate: TokenEntry, tier?: string): Promise<string>;
}

/** The durable task log of one profile. Every promise resolves after COMMIT; readers see committed data only. */
export interface Ledger {
  /** The UUID of the ledger's file; part of every event's id. */
  readonly id: string;
  /**
   * Stores task, idempotency key and `submitted` event, and the events that follow it at once, in one transaction. The
   * same key with the same fingerprint returns the existing task (`created: false`), unless it ended blocked, which frees
   * the key. Another fingerprint throws TASK_ID_CONFLICT, a new task after its `acceptUntil` DISPATCH_EXPIRED, and one of a
   * context that is being deleted CONTEXT_IN_USE.
   */
  accept(
    task: NewTask,
    following?: readonly FollowingEvent[],
  ): Promise<{ readonly task: TaskRecord; readonly created: boolean }>;
  /** The task that holds an idempotency key. */
  findByKey(caller: string, key: string): KnownTask | undefined;
  /**
   * Appends an event and applies the change, in one transaction. Returns undefined without a change for an ended task:
   * the first terminal event wins. That event also closes the task's open token reservations: their estimates count as
   * spent, and a later settlement changes nothing.
   */
  append(taskId: string, event: NewEvent, change?: TaskChange): Promise<TaskEvent | undefined>;
  /**
   * Asks the task's caller, in one transaction with the `input_required` event. The same key returns the same question,
   * answered or not; a withdrawn question is asked again. Returns undefined for an ended task. Throws INTERNAL while
   * another question is open.
   */
  ask(
    taskId: string,
    question: { readonly key: string; readonly text: string },
  ): Promise<Question | undefined>;
  /**
   * Stores the answer to the open question, in one transaction with the `answered` event. A copy (the same message id)
   * changes nothing and returns the question that it answered. Throws INVALID_PARAMS for a different answer with a used
   * message id, UNSUPPORTED_OPERATION without an open question.
   */
  answer(taskId: string, answer: Answer): Promise<{ readonly question: Question; readonly isNew: boolean }>;
  /**
   * Withdraws an open question, in one transaction with a `queued` event: the task continues without an answer. Nothing
   * changes for an answered or unknown question.
   */
  withdraw(taskId: string, key: string): Promise<Question | undefined>;
  /** The questions of a task, oldest first. */
  questions(taskId: string): Question[];
  /**
   * Adds a chunk to an artifact of a task, in one transaction with its `artifact` event, which has no content. Returns
   * undefined for a chunk whose place is taken, and for an ended task. Throws INVALID_PARAMS for a chunk that is not valid,
   * ARTIFACT_TOO_LARGE beyond the limits, and INTERNAL for one that cannot follow.
   */
  addArtifact(taskId: string, chunk: ArtifactChunk, limits: ArtifactLimits): Promise<TaskEvent | undefined>;
  /** The chunks of all artifacts of a task, in the order of their events. */
  artifacts(taskId: string): StoredChunk[];
  /** The chunk that an `artifact` event added. */
  artifactAt(event: Pick<TaskEvent, 'taskId' | 'seq'>): StoredChunk | undefined;
  /** A part of that chunk, by its place in it, with its content. */
  artifactPart(event: Pick<TaskEvent, 'taskId' | 'seq'>, part: number): ArtifactPart | undefined;
  /** The chunks of one artifact with their content, in the order of their places: as much as one artifact may have. */
  wholeArtifact(taskId: string, id: string): ArtifactChunk[];
  /**
   * The size of those parts of a task's artifacts that replies have inline, in bytes of content: at most 1 MiB, and the URLs of
   * links, which are always inline.
   */
  inlineArtifactBytes(taskId: string): number;
  /** The record of an unfinished task has the message and the dispatch that were accepted: they must not be changed. */
  get(taskId: string): TaskRecord | undefined;
  /**
   * Takes as long with a million ended tasks as with a thousand. The time grows with the unfinished tasks, without `caller`
   * with the callers of ended tasks, and with `contextId` with the tasks of the context: about 1 µs for each.
   */
  list(query: TaskQuery): TaskPage;
  /** Events of one task with a sequence greater than `afterSeq`, in order. */
  events(taskId: string, afterSeq?: number, limit?: number): TaskEvent[];
  /**
   * The events of one task after `afterSeq`, then new ones as they are committed; ends after the terminal event. A slow reader
   * needs little memory: what is committed while it is busy, it reads from the file. Rejects with the signal's reason.
   */
  watch(taskId: string, afterSeq: number, signal: AbortSignal): AsyncIterableIterator<TaskEvent>;
  /**
   * Resolves with the task as soon as it has ended or waits for its caller. Rejects with the signal's reason, and with
   * TASK_NOT_FOUND for an unknown task and for one that is removed meanwhile.
   */
  settled(taskId: string, signal: AbortSignal): Promise<TaskRecord>;
  /** Tasks that have not ended, oldest first: a start resumes them. */
  unfinished(): TaskRecord[];
  loadCheckpoint(taskId: string): JsonObject | undefined;
  /**
   * Replaces the checkpoint, which ends with its task unless its state has `keep_after_end: true`. `growing` names an
   * append-only list in the state: elements that are the same objects as at the last save are not written again, so they
   * must not be changed. If the state has `keep_conversation: true`, the list of the last checkpoint becomes the
   * conversation of the task's context, caller and `task.conversation` when the task ends, unless it ends blocked.
   */
  saveCheckpoint(taskId: string, state: JsonObject, growing?: string): Promise<void>;
  /**
   * The conversation that the last task of the same context, caller and `task.conversation` left; undefined without one, and
   * for a task that came through an orchestrator and has no `task.conversation`.
   */
  earlierConversation(taskId: string): EarlierConversation | undefined;
  /** The checkpoints that were kept after the end of their tasks, oldest first. */
  keptCheckpoints(): KeptCheckpoint[];
  /**
   * Replaces the kept checkpoint of an ended task by the result that came after its end, and books its tokens, in one
   * transaction. Resolves with false, and changes nothing, if there is none.
   */
  saveLateResult(taskId: string, result: JsonObject, tokens: TokenEntry): Promise<boolean>;
  /** Removes the kept checkpoint of an ended task; false if there is none. */
  dropKeptCheckpoint(taskId: string): Promise<boolean>;
  /** The TASK_RESULT, as wire JSON, that came after the task's end. */
  lateResult(taskId: string): JsonObject | undefined;
  peers(): PeerRecord[];
  savePeer(peer: PeerRecord): Promise<void>;
  /** Removes a peer, if it exists. */
  forgetPeer(agentId: string): Promise<void>;
  /**
   * Removes up to `batch` ended tasks that were last updated before `before` (ms since the epoch), with all their rows, remembers
   * their callers (see `LedgerContexts`), and resolves with their number. Keeps tasks with events that the bus has not acknowledged.
   * Also removes the spending of days before (see `SpendingDays`), and up to `batch` older conversations of contexts without a task.
   */
  prune(before: number, batch: number): Promise<number>;
  /** True when the ledger has tasks of the context. */
  hasContext(contextId: string): boolean;
  /** The ids of contexts with tasks that sort after `after` by code point, sorted, at most `limit`. */
  contextIds(after: string, limit: number): string[];
  readonly tokens: LedgerTokens;
  readonly contexts: LedgerContexts;
  readonly figures: Figures;
  readonly outbox: OutboxSource;
  readonly push: LedgerPush;
  readonly joins: LedgerJoins;
  /** The reason why the store cannot write now (disk full, …), or undefined. For /ready. */
  problem(): string | undefined;
  /** Commits pending writes and closes the file. */
  close(): Promise<void>;
}
