import type { TaskDispatch } from '../handshake/dispatch.ts';
import type { TaskResult, Usage } from '../handshake/result.ts';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import type { TaskArtifacts } from './artifact.ts';
import type { Caller } from './intake.ts';
import type { MessagePart } from './message-parts.ts';

/** The maximum number of questions that a task may ask its caller (docs/handshake.md#asking). */
export const MAX_QUESTIONS = 5;
/** The maximum length of a question, in characters. */
export const MAX_QUESTION_CHARS = 8_000;

export interface ModelInfo {
  readonly id: string;
  readonly tier: string;
  /** In tokens; may change while the profile runs, so it is read at every use. */
  readonly contextWindow: number;
  /** True while `contextWindow` is an assumption, because the model's provider has not been reached yet. */
  readonly isWindowPending?: boolean;
}

/** A task that passed admission. */
export interface AdmittedTask {
  /** The unique A2A task id. `dispatch.task.taskId` is the caller's name for the task. */
  readonly id: string;
  readonly contextId: string;
  readonly caller: Caller;
  readonly dispatch: TaskDispatch;
  /**
   * What the message holds beside its TASK_DISPATCH, in its order: text, data and files. The text of a message without a
   * TASK_DISPATCH is the brief too; beside one, it is for people (docs/handshake.md#data-and-files).
   */
  readonly parts: readonly MessagePart[];
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number | undefined;
  /** The `traceparent` of the request that created the task (W3C Trace Context), for outgoing calls. */
  readonly traceparent?: string;
  /** The caller of the first task of the chain; null if it is not known, absent if it is the caller of this task. */
  readonly rootCaller?: string | null;
  /** The number of times that a start resumed this task after a crash or a stop. */
  readonly resumes: number;
}

/** A step of a run, appended to the task's log. `text` deltas stay in the ledger; the rest goes to NATS too. */
export type RunEvent =
  | { readonly type: 'progress'; readonly data: JsonObject }
  | { readonly type: 'delegated' | 'rerouted' | 'alert'; readonly data: JsonObject }
  /** The run waits; the next `delegated` or `progress` ends the wait. */
  | { readonly type: 'queued'; readonly data: JsonObject }
  | { readonly type: 'text'; readonly text: string };

/** The conversation that an ended task left to the next one of its context (docs/handshake.md#conversations). */
export interface EarlierConversation {
  /** The growing list of the task's last checkpoint, oldest first. */
  readonly messages: readonly JsonValue[];
  /** False if the oldest messages are left out. */
  readonly isWhole: boolean;
  /** How the task ended: `status`, `error`, `remaining` and `next_steps` of its TASK_RESULT. */
  readonly result: JsonObject;
}

/** The tokens of one task: every model call reserves before it runs and settles after (docs/handshake.md#tokens). */
export interface Budget {
  /** The ceiling, or undefined without one. */
  readonly limit: number | undefined;
  /** Input plus output tokens so far: own, delegated, and reservations that a crash left unsettled. */
  spent(): number;
  /** `limit` minus `spent()`; Infinity without a ceiling. */
  remaining(): number;
  /** Durable before the call may start. Throws BUDGET_EXHAUSTED when the input alone does not fit. */
  reserve(estimate: { inputTokens: number; maxOutputTokens: number }): Promise<Reservation>;
  /** Counts the tokens that a peer reported for delegated work; `work` names it for `delegatedTo`. */
  addDelegated(tokens: number, work?: string): Promise<void>;
  /** The tokens already counted for a piece of delegated work, before restarts too. Prevents counting it twice. */
  delegatedTo(work: string): number;
  usage(): Usage;
}

export interface Reservation {
  /** Replaces the estimate with the provider's metered count, or with the tokenizer's (`estimated`). */
  settle(usage: Omit<Usage, 'model'> & { model?: string }): Promise<void>;
}

export interface RunContext {
  /** Aborts on cancel, on the deadline, or when a shutdown's grace period ends. The run must end at once. */
  readonly signal: AbortSignal;
  /**
   * Aborts when the process is about to stop: the run finishes its current step, saves a checkpoint, and rejects with
   * this signal's reason. The next start calls the executor again.
   */
  readonly stopping: AbortSignal;
  readonly budget: Budget;
  reportEvent(event: RunEvent): Promise<void>;
  /**
   * Waits without occupying a slot: the run keeps its context and counts as waiting. After `wait` resolves, the run
   * gets a slot again before this resolves. If `wait` rejects, the run has no slot and must end. Must not be called
   * while another `park` is under way.
   */
  park<T>(wait: () => Promise<T>): Promise<T>;
  /**
   * Asks the task's caller and waits for the answer, parked. The task is INPUT_REQUIRED meanwhile, and its deadline
   * keeps running (docs/handshake.md#asking). `key` identifies the question across restarts: an answered question
   * resolves at once, a pending one is not asked again. Must not be called while the run is parked. Rejects with the
   * reason of `signal` or `stopping`, and with UNSUPPORTED_OPERATION beyond MAX_QUESTIONS. `options.signal` withdraws
   * the question durably: once the run has a slot again, this rejects with that signal's reason, or resolves with an
   * answer that came first.
   */
  ask(question: string, options: { readonly key: string; readonly signal?: AbortSignal }): Promise<string>;
  /** The artifacts of the task beside those of its result; absent where a run is a part of another. */
  readonly artifacts?: TaskArtifacts | undefined;
  /** The conversation that the task continues; absent where a run is a part of another. */
  earlier?(): EarlierConversation | undefined;
  readonly checkpoint: {
    load(): JsonObject | undefined;
    /**
     * Durable when it resolves. `growing` names an append-only list in the state: elements that are the same objects as
     * at the last save are not written again, so they must not be changed. With `keep_conversation: true` in the state,
     * the list is the conversation that the next task of the context continues, unless this one ends blocked.
     */
    save(state: JsonObject, growing?: string): Promise<void>;
  };
}

/**
 * The outcome of an executor; the runner adds ids, usage and durations, and writes the TASK_RESULT. An executor throws
 * only unforeseen errors; CANCELED and DEADLINE_EXCEEDED arrive as the signal's reason.
 */
export type RunOutcome = Pick<
  TaskResult,
  | 'status'
  | 'nextSteps'
  | 'blockedReason'
  | 'artifacts'
  | 'remaining'
  | 'error'
  | 'output'
  | 'text'
  | 'evidence'
  | 'unmet'
  | 'attempts'
  | 'executedBy'
  | 'contextFresh'
>;

/** Runs admitted tasks: the agent's loop, or the relay to a peer. */
export interface Executor {
  readonly model: ModelInfo;
  /**
   * True for an executor without effects outside its process, which costs no tokens: a run may begin before its task is
   * durable, and a crash may repeat it.
   */
  readonly isFreeOfEffects?: boolean;
  /**
   * True for an executor that has no effect outside its process, and calls no model, before a checkpoint of its own is
   * saved. Its run may begin before its task is durable: no write of a run resolves before the task and its `started` event
   * are stored, and each rejects if they are not.
   */
  readonly savesBeforeEffects?: boolean;
  run(task: AdmittedTask, context: RunContext): Promise<RunOutcome>;
}
