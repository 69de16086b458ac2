import type { TaskDispatch } from './dispatch.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { CloudEvent } from './lifecycle.ts';
import type { TaskResult, Usage } from './result.ts';

/** Time, injected so that tests own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`, unless disposed first. Does not keep the process alive. */
  timer(fn: () => void, ms: number): Disposable;
}

/** Identities, injected so that tests own them. */
export interface Ids {
  /** A UUIDv7: unique, and later ones sort after earlier ones. */
  uuid(): string;
}

export type Scope = 'announce' | 'dispatch' | 'read' | 'join' | (string & {});

/** Who is calling, as bearer authentication established it. */
export interface Caller {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** One A2A message at the border: its text, its data parts, and the JSON that arrived. */
export interface InboundMessage {
  readonly messageId: string;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  /** All text parts, joined by newlines. */
  readonly text: string;
  readonly data: readonly {
    readonly data: JsonValue;
    readonly mediaType: string | undefined;
    /** `data` as it stands in the request, where that is known: what was parsed has lost duplicate names. */
    readonly text?: string;
  }[];
  /** The message as A2A JSON. */
  readonly raw: JsonObject;
  /** The W3C trace context of the request that it came in (design 5, Tracing). */
  readonly traceparent?: string;
}

/** What an intake made of a message: a task in the ledger, or an immediate reply. */
export type Accepted =
  | { readonly kind: 'task'; readonly taskId: string; readonly metadata?: JsonObject }
  | {
      readonly kind: 'reply';
      readonly contextId: string;
      readonly data?: JsonObject;
      readonly text?: string;
    };

/** Where messages go (implemented by libs/fleet, called by libs/a2a). */
export interface Intake {
  /** Durable when it resolves. Throws a FleetError that leaves nothing behind. */
  accept(message: InboundMessage, caller: Caller): Promise<Accepted>;
  /** Asks a task to stop; resolves when its terminal event is durable. Throws TASK_NOT_CANCELABLE. */
  cancel(taskId: string, caller: Caller): Promise<void>;
}

/** An event on its way to the bus. `event.id` is the same at every attempt. */
export interface OutboxEvent {
  readonly seq: number;
  readonly subject: string;
  readonly event: CloudEvent;
}

/** What the event relay reads from (implemented by libs/ledger). */
export interface OutboxSource {
  /** Up to `limit` events with a sequence greater than `afterSeq`, in order. */
  read(afterSeq: number, limit: number): OutboxEvent[];
  /** The sequence up to which everything is acknowledged by the bus. */
  cursor(): number;
  /** Moves the cursor forward, durably. */
  advance(seq: number): Promise<void>;
  /** Resolves as soon as an event after `afterSeq` is committed; rejects with the signal's reason. */
  wait(afterSeq: number, signal: AbortSignal): Promise<void>;
  /** Events not yet acknowledged, and the age of the oldest in ms (0 when there is none). */
  backlog(): { readonly count: number; readonly oldestAgeMs: number };
}

export interface ModelInfo {
  readonly id: string;
  readonly tier: string;
  readonly contextWindow: number;
}

/** A task that passed admission. */
export interface AdmittedTask {
  /** The A2A task id: unique. `dispatch.task.taskId` is the caller's name for it. */
  readonly id: string;
  readonly contextId: string;
  readonly caller: Caller;
  readonly dispatch: TaskDispatch;
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number | undefined;
  /** The W3C trace context that the task was accepted in, for what it calls. */
  readonly traceparent?: string;
  /** How often this task was taken up again after a crash or a stop. */
  readonly resumes: number;
}

/** A step of a run, appended to the task's log. `text` deltas stay in the ledger; the rest goes to NATS too. */
export type RunEvent =
  | { readonly type: 'progress'; readonly data: JsonObject }
  | { readonly type: 'delegated' | 'rerouted' | 'alert'; readonly data: JsonObject }
  /** The run waits for something; the next `delegated` or `progress` says that it goes on. */
  | { readonly type: 'queued'; readonly data: JsonObject }
  | { readonly type: 'text'; readonly text: string };

/** The tokens of one task: every model call reserves before it runs and settles after (design 2, Tokens). */
export interface Budget {
  /** The ceiling, or undefined for none. */
  readonly limit: number | undefined;
  /** Input plus output tokens so far: own and delegated, and reservations that a crash left unsettled. */
  spent(): number;
  /** What is left, Infinity without a ceiling. */
  remaining(): number;
  /** Durable before the call may start. Throws BUDGET_EXHAUSTED when the input alone does not fit. */
  reserve(estimate: { inputTokens: number; maxOutputTokens: number }): Promise<Reservation>;
  /** Counts what a peer reported for delegated work; `work` names it, for `delegatedTo`. */
  addDelegated(tokens: number, work?: string): Promise<void>;
  /** What is counted for a piece of work already, over restarts too: what is asked about twice is counted once. */
  delegatedTo(work: string): number;
  usage(): Usage;
}

export interface Reservation {
  /** Replaces the estimate by what the provider metered (or by the tokenizer's count, `estimated`). */
  settle(usage: Omit<Usage, 'model'> & { model?: string }): Promise<void>;
}

export interface RunContext {
  /** Cancel, deadline, or the end of a stop's grace: end now, whatever runs. */
  readonly signal: AbortSignal;
  /**
   * The process is about to stop: finish the step under way, save a checkpoint, and reject with this signal's reason.
   * The next start calls the executor again.
   */
  readonly stopping: AbortSignal;
  readonly budget: Budget;
  report(event: RunEvent): Promise<void>;
  /**
   * Waits without holding anybody up: the run's slot goes to others, its context stays its own, and it counts as
   * waiting. Once `wait` resolves, the run gets a slot again before this does. A `wait` that rejects leaves the run
   * without one: it is to end. Not to be called while it is under way.
   */
  park<T>(wait: () => Promise<T>): Promise<T>;
  /**
   * Asks the task's caller and waits for the answer, parked: the task is INPUT_REQUIRED, its deadline runs on (design 3,
   * Asking). The same key is the same question, also after a restart: one that was answered answers at once, one that was
   * asked is not asked again. Not to be called while the run is parked. Rejects with the reason of `signal` or
   * `stopping`, and with UNSUPPORTED_OPERATION for one more than MAX_QUESTIONS. `o.signal` takes the question back, durably:
   * once the run has a slot again, it rejects with that signal's reason, or resolves with an answer that came first.
   */
  ask(question: string, o: { readonly key: string; readonly signal?: AbortSignal }): Promise<string>;
  readonly checkpoint: {
    load(): JsonObject | undefined;
    /**
     * Durable when it resolves. `growing` names a field of the state that is a list and grows: elements that are the same
     * objects as at the last save are not written again, so they must not be changed.
     */
    save(state: JsonObject, growing?: string): Promise<void>;
  };
}

/**
 * What an executor hands back; the runner adds ids, usage and durations, and writes the TASK_RESULT. An executor
 * throws only for what it did not foresee; CANCELED and DEADLINE_EXCEEDED arrive as the signal's reason.
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
>;

/** Runs admitted tasks (libs/agent: the loop; libs/fleet: the relay to peers). */
export interface Executor {
  readonly model: ModelInfo;
  run(task: AdmittedTask, context: RunContext): Promise<RunOutcome>;
}

/** Tokens of one model call, or of one delegation. */
export interface TokenEntry {
  readonly kind: 'own' | 'delegated';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly source: Usage['source'];
  readonly model: string;
}

/** The durable account of a task's tokens (implemented by libs/ledger, used by libs/tokens). */
export interface TokenStore {
  /** Everything booked for a task; a reservation that was never settled stands with its estimate. */
  entries(taskId: string): TokenEntry[];
  /** Books an estimate before a call; durable when it resolves with the reservation's id. */
  reserve(taskId: string, estimate: TokenEntry): Promise<string>;
  /** Replaces a reservation by what was really spent. */
  settle(reservationId: string, actual: TokenEntry): Promise<void>;
  /** Books tokens that were not reserved here (delegated work). */
  add(taskId: string, entry: TokenEntry): Promise<void>;
}
