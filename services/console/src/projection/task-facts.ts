/** The states of a task in the console (docs/console.md#states). */
export const TASK_STATES = [
  'submitted',
  'queued',
  'running',
  'waiting',
  'input_required',
  'paused',
  'done',
  'partial',
  'blocked',
  'error',
  'canceled',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Tokens of model calls. `reasoning` is a part of `output`; `input` has no cache reads and writes. */
export interface Counts {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

export const NO_COUNTS: Counts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

/** What is known of one task at one profile, from the events of that profile alone. Times are ms since the epoch. */
export interface TaskFacts {
  readonly profile: string;
  readonly id: string;
  /** The caller's name of the task. */
  readonly taskId: string;
  readonly contextId: string;
  readonly caller: string;
  /** The first task of the chain: its caller's name for it, and that caller. Null where the events do not say. */
  readonly rootId: string | null;
  readonly rootCaller: string | null;
  readonly parentTaskId: string | null;
  readonly parentProfile: string | null;
  /** False for a task that a member of the fleet sent on. */
  readonly entered: boolean;
  readonly state: TaskState;
  readonly peer: string | null;
  readonly tool: string | null;
  readonly priority: string | null;
  readonly target: string | null;
  readonly spentTokens: number;
  readonly budgetTokens: number | null;
  readonly submittedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly deadlineAt: number | null;
  readonly reason: string | null;
  readonly reroutes: number;
  readonly model: string | null;
  readonly modelTier: string | null;
  /** Own tokens that are in the spending, and their kinds. After the end they are those of the ledger. */
  readonly ownTokens: number;
  readonly counts: Counts;
  /** False while no event has said which kinds of tokens were spent. */
  readonly hasCounts: boolean;
  readonly delegatedTokens: number;
  readonly savedTokens: number;
  readonly overrun: boolean;
  readonly traceId: string | null;
}
