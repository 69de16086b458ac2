import type { JsonObject } from '@hermes-fleet/protocol';

/** The treatment of an unmerged result when its context is deleted. */
export type ResultsMode = 'keep' | 'delete';

export interface ContextDeletionRequest {
  readonly contextId: string;
  readonly caller: string;
  readonly results: ResultsMode;
}

/** `unsupported` and `refused` are final, as `deleted` is. */
export type PeerDeletionState = 'pending' | 'deleted' | 'unsupported' | 'refused';

/** The deletion of a context at a peer to which tasks of the context were sent. That at an A2A agent is `unsupported` at once. */
export interface PeerDeletion {
  readonly peer: string;
  /** The context's id at the peer. */
  readonly contextId: string;
  readonly state: PeerDeletionState;
  readonly detail?: string;
}

/** The outcome of removing a context's files. */
export interface RemovedFiles {
  /** There was something. */
  readonly files: boolean;
  /** The state of the context's result before, or `kept` for an unmerged one that stays. */
  readonly result: 'none' | 'merged' | 'kept' | 'deleted';
}

/** A deletion that a caller asked for (docs/operations.md#delete-a-context). */
export interface ContextDeletion {
  readonly contextId: string;
  readonly caller: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly results: ResultsMode;
  /** The number of erased tasks. */
  readonly tasks: number;
  /** Nothing of the erased tasks is left in the ledger's file and its write-ahead log. */
  readonly purged: boolean;
  /** Undefined until the files are removed. */
  readonly removed: RemovedFiles | undefined;
  readonly peers: readonly PeerDeletion[];
}

/** The outcome of one step of a deletion. */
export interface ContextDeletionProgress {
  /** The mode that the step knew. */
  readonly results: ResultsMode;
  readonly removed?: RemovedFiles | undefined;
  readonly peers: readonly PeerDeletion[];
}

/** `task`: the task itself; `subtask`: a part that the profile's own agent delegated; `message`: one to an A2A agent. */
export type SentWorkKind = 'task' | 'subtask' | 'message';

/** Work of a task that was sent to a peer or an A2A agent. */
export interface SentWork {
  /** The peer, or the agent as its caller is told (its registered name, else its host). */
  readonly peer: string;
  readonly kind: SentWorkKind;
  /** The context at the peer. Undefined for a task, which keeps its own. */
  readonly contextId: string | undefined;
}

/** A context whose callers the ledger remembers after their tasks. */
export interface RememberedContext {
  readonly contextId: string;
  /** One of its callers is forgettable. */
  readonly mayGo: boolean;
}

/** Which callers of a context of which nothing is left here can be forgotten; times in ms since the epoch. */
export interface Forgettable {
  /** One that was remembered at this time or later stays. */
  readonly before: number;
  /** One with work at peers stays if it was remembered at this time or later; undefined: it stays. */
  readonly peersBefore?: number | undefined;
}

/** The deletion of contexts. A deletion that was asked for is durable until it is complete. */
export interface LedgerContexts {
  /**
   * Erases the caller's tasks of a context with all their rows, and remembers what else is to be deleted, in one
   * transaction, which blocks the thread for about 0.4 ms for each task with 100 events. A caller whose tasks were pruned, or erased with `keep`, is remembered with the peers that did work of
   * them, and can delete what is left: a deletion of no tasks. Figures stay, and events that are not published yet keep being published. While the deletion is
   * incomplete, `Ledger.accept` refuses tasks of the context with CONTEXT_IN_USE, and a second call returns the deletion;
   * if it asks for `delete` after `keep`, the deletion begins again with that. Throws TASK_NOT_FOUND if the caller has no
   * task in the context and is not remembered, CONTEXT_SHARED if another caller has one or is remembered, CONTEXT_IN_USE if a task has not ended, or a
   * peer may still be doing it, and QUEUE_FULL if the caller has 1,000 incomplete deletions.
   */
  delete(request: ContextDeletionRequest): Promise<ContextDeletion>;
  /**
   * Removes what erased and pruned tasks left in the ledger's file and its write-ahead log, and records that for their
   * deletions. Calls are answered together. Rewrites of the file keep a distance, because each blocks the thread (see
   * `Store.rewrite`); one is not repeated while only the log is left. Throws STORE_UNAVAILABLE, e.g. while another process
   * reads the file: call again.
   */
  purge(): Promise<void>;
  /** The incomplete deletion of a context; undefined if there is none. */
  findDeletion(contextId: string): ContextDeletion | undefined;
  /** The incomplete deletions, oldest first. */
  deletions(): ContextDeletion[];
  /**
   * Records what a deletion achieved, and resolves with its new state. It is complete, and forgotten, when it is purged, the files are
   * removed and no peer is pending; its caller is forgotten too, unless something may be left: a result that was kept, or
   * with `keep` work at peers. A step of another mode than the deletion has now changes nothing. Undefined for one
   * that is not known.
   */
  record(contextId: string, progress: ContextDeletionProgress): Promise<ContextDeletion | undefined>;
  /**
   * The contexts with remembered callers that sort after `after` by code point, sorted, at most `limit`, and whether
   * `forget` would forget a caller.
   */
  remembered(after: string, limit: number, forgettable: Forgettable): RememberedContext[];
  /** Forgets callers of contexts of which nothing is left here, and resolves with their number. */
  forget(contextIds: readonly string[], forgettable: Forgettable): Promise<number>;
  /**
   * Removes up to `batch` conversations, those of the longest ago first, while all together have more than `maxBytes`.
   * Resolves with their number.
   */
  trimConversations(maxBytes: number, batch: number): Promise<number>;
  /**
   * The data of the event `submitted` of the caller's first task in a context, or of another caller's first one if it has none there;
   * undefined for a context without a task. Tasks whose dispatch was not read, which is of another version, do not count. Takes as
   * long in a context of many other tasks as in one of few.
   */
  beginning(contextId: string, caller: string): JsonObject | undefined;
  /** The data of the event `submitted` of the caller's last task in a context whose dispatch was read; undefined if it has none there. */
  latest(contextId: string, caller: string): JsonObject | undefined;
  /**
   * The results of the last `limit` ended tasks that a context accepted from a caller, the latest end first. Those that wait
   * or run do not count. Takes as long in a context of many ended tasks as in one of few.
   */
  latestResults(contextId: string, caller: string, limit: number): JsonObject[];
  /** The peers and A2A agents to which work of a task was sent, without copies; at each peer, work without a `contextId` is first. */
  sentBy(taskId: string): SentWork[];
  /**
   * The context, at peers, of the subtasks that the profile's own agent delegates for a caller's tasks of a context; those in a
   * repository have another one for each. It is the same after a restart, differs for each caller, and cannot be computed without a
   * secret of the ledger's file.
   */
  subtasksContextId(caller: string, contextId: string, repository?: string): string;
  /**
   * The name, at peers, of a caller's conversation in a context: for a peer, this profile is the caller of all of them. `given`
   * is the name that the caller itself gave. It is the same after a restart, and differs for each caller, context and given name.
   */
  conversationName(caller: string, contextId: string, given: string | undefined): string;
  /**
   * The token with which the peer that does a task gets the checkout of its caller. It is the same after a restart, and no other
   * name that this makes tells it.
   */
  repositoryToken(taskId: string): string;
  /** The context is one that `subtasksContextId` names, for any caller and context. */
  isSubtasksContextId(contextId: string): boolean;
}
