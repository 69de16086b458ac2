import type { JsonObject, OutboxSource, TokenStore } from '@hermes-fleet/protocol';

export type TaskState =
  | 'submitted'
  | 'queued'
  | 'working'
  | 'input_required'
  | 'completed'
  | 'failed'
  | 'rejected'
  | 'canceled';

export interface TaskRecord {
  /** The A2A task id. */
  readonly id: string;
  readonly contextId: string;
  readonly caller: string;
  /** The caller's own name for the task (`task.task_id`); with `caller` the idempotency key. */
  readonly key: string;
  readonly state: TaskState;
  /** The A2A message as it came, as JSON. */
  readonly message: JsonObject;
  /** The TASK_DISPATCH, as wire JSON. */
  readonly dispatch: JsonObject;
  /** The TASK_RESULT, as wire JSON, once the task has ended. */
  readonly result: JsonObject | undefined;
  readonly resumes: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The sequence of the task's newest event. */
  readonly lastSeq: number;
  /** The W3C trace context that the task was accepted in. */
  readonly traceparent?: string;
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
}

/** One line of a task's append-only log. `seq` is global to the ledger and strictly increasing. */
export interface TaskEvent {
  readonly seq: number;
  readonly taskId: string;
  /** A lifecycle event's name, or `text` for a text delta, which never leaves the ledger for the bus. */
  readonly type: string;
  readonly at: number;
  readonly data: JsonObject;
}

export interface NewEvent {
  readonly type: string;
  readonly data: JsonObject;
}

export interface TaskChange {
  readonly state?: TaskState;
  readonly result?: JsonObject;
  readonly resumes?: number;
}

/** A question that a task put to its caller, and its answer once there is one (design 3, Asking). */
export interface Question {
  /** The asker's own name for it, unique in its task. */
  readonly key: string;
  /** The sequence of its `input_required` event, which does not hold its text. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly text: string;
  readonly answer: Answer | undefined;
  /** Since when nobody waits for its answer any more, ms since the epoch; absent for one that was not withdrawn. */
  readonly withdrawnAt?: number;
}

/** What a caller answered. */
export interface Answer {
  readonly messageId: string;
  readonly text: string;
  /** The A2A message as it came, as JSON. */
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
  /** Empty when there is no further page. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

export interface PeerRecord {
  readonly agentId: string;
  /** The SESSION_ANNOUNCE as wire JSON. */
  readonly announce: JsonObject;
  readonly receivedAt: number;
  /** Whose token it came with, or the peer joined with; absent for what came without one. */
  readonly caller?: string;
}

/** The durable task log of one profile. Every promise resolves after COMMIT; readers see committed data only. */
export interface Ledger {
  /** A UUID made when the ledger's file was created; part of every event's id. */
  readonly id: string;
  /**
   * One transaction: task, idempotency key, `submitted` event. The same key with the same fingerprint gives the task
   * that is there (`created: false`), unless that one ended blocked: then the key is free again. Another fingerprint
   * throws TASK_ID_CONFLICT.
   */
  accept(task: NewTask): Promise<{ readonly task: TaskRecord; readonly created: boolean }>;
  /**
   * Appends one event and applies the change, in one transaction. A task that has ended takes no further event: then
   * nothing changes and undefined is returned, so the first terminal event wins.
   */
  append(taskId: string, event: NewEvent, change?: TaskChange): Promise<TaskEvent | undefined>;
  /**
   * Puts a question to the task's caller, in one transaction with its `input_required` event. The same key is the same
   * question, with its answer where it has one; one that was withdrawn is asked anew. A task that has ended asks
   * nothing: undefined. Throws INTERNAL while another question is open.
   */
  ask(
    taskId: string,
    question: { readonly key: string; readonly text: string },
  ): Promise<Question | undefined>;
  /**
   * Takes the answer to the open question, in one transaction with its `answered` event. A copy, by its message's id,
   * changes nothing and gives the question that it answered. Throws INVALID_PARAMS for another answer under such an id,
   * UNSUPPORTED_OPERATION where no question is open.
   */
  answer(taskId: string, answer: Answer): Promise<{ readonly question: Question; readonly isNew: boolean }>;
  /**
   * Takes a question back, in one transaction with the `queued` event of a task that goes on without an answer. One that
   * was answered before keeps its answer; where there is nothing to take back, nothing changes.
   */
  withdraw(taskId: string, key: string): Promise<Question | undefined>;
  /** The questions of a task, the latest last. */
  questions(taskId: string): Question[];
  get(taskId: string): TaskRecord | undefined;
  list(query: TaskQuery): TaskPage;
  /** Events of one task with a sequence greater than `afterSeq`, in order. */
  events(taskId: string, afterSeq?: number, limit?: number): TaskEvent[];
  /**
   * The events of one task after `afterSeq`, then live ones as they are committed; ends after the terminal event.
   * Backpressure costs no memory: it reads from the file. Rejects with the signal's reason.
   */
  watch(taskId: string, afterSeq: number, signal: AbortSignal): AsyncIterableIterator<TaskEvent>;
  /** Tasks that have not ended, oldest first: what a start takes up again. */
  unfinished(): TaskRecord[];
  /** The newest checkpoint of a task. */
  loadCheckpoint(taskId: string): JsonObject | undefined;
  /**
   * Replaces it. `growing` names a field of the state that is a list and grows: elements that are the same objects as at
   * the last save are not written again, so they must not be changed.
   */
  saveCheckpoint(taskId: string, state: JsonObject, growing?: string): Promise<void>;
  peers(): PeerRecord[];
  savePeer(peer: PeerRecord): Promise<void>;
  /** Removes a peer; nothing happens when it is not there. */
  forgetPeer(agentId: string): Promise<void>;
  /**
   * Removes at most `batch` tasks that ended and were last updated before `before` (ms since the epoch), with all that
   * belongs to them, and resolves with their number. Never one with an event that the bus has not acknowledged.
   */
  prune(before: number, batch: number): Promise<number>;
  readonly tokens: TokenStore;
  readonly outbox: OutboxSource;
  /** Why the store cannot write right now (disk full, …), or undefined. For /ready. */
  problem(): string | undefined;
  /** Commits what is pending and closes the file. */
  close(): Promise<void>;
}
