import { flag, integer, integerOrNull, type Row, text, textOrNull } from '@hermes-fleet/store';

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

/** The kinds of tokens of model calls, by their names on the wire. `reasoning` is a part of `output`; `input` has no cache reads and writes. */
const TOKENS = {
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'cache_read_tokens',
  cacheWrite: 'cache_write_tokens',
  reasoning: 'reasoning_tokens',
} as const;
type Kind = keyof typeof TOKENS;

/** Tokens by their kind, in code and on the wire. */
export type Counts = { readonly [K in Kind]: number };
export type Usage = { readonly [K in Kind as (typeof TOKENS)[K]]: number };

export const KINDS = Object.keys(TOKENS) as readonly Kind[];

/** Counts, of each kind what `of` says. */
export const countsBy = (of: (kind: Kind, wire: keyof Usage) => number): Counts =>
  Object.fromEntries(KINDS.map((kind) => [kind, of(kind, TOKENS[kind])])) as Counts;

export const NO_COUNTS = countsBy(() => 0);

export const sumOfCounts = (all: readonly Counts[]): Counts =>
  countsBy((kind) => all.reduce((sum, counts) => sum + counts[kind], 0));

export const usageOf = (counts: Counts): Usage =>
  Object.fromEntries(KINDS.map((kind) => [TOKENS[kind], counts[kind]])) as Usage;

const KEY = { profile: text, id: text };

/** What the first events of a task set once, and how it is read from its column. Most of it is in an index. */
export const ORIGIN = {
  /** The caller's name of the task. */
  taskId: text,
  contextId: text,
  caller: text,
  /** The first task of the chain: its caller's name for it, and that caller. Null where the events do not say. */
  rootId: textOrNull,
  rootCaller: textOrNull,
  parentTaskId: textOrNull,
  parentProfile: textOrNull,
  /** False for a task that a member of the fleet sent on. */
  entered: flag,
  priority: textOrNull,
  target: textOrNull,
  submittedAt: integer,
  deadlineAt: integerOrNull,
  traceId: textOrNull,
};

/** What later events change. */
export const COURSE = {
  state: stateIn,
  peer: textOrNull,
  tool: textOrNull,
  spentTokens: integer,
  budgetTokens: integerOrNull,
  startedAt: integerOrNull,
  endedAt: integerOrNull,
  reason: textOrNull,
  reroutes: integer,
  model: textOrNull,
  modelTier: textOrNull,
  /** Own tokens that are in the spending, and their kinds. After the end they are those of the ledger. */
  ownTokens: integer,
  /** False while no event has said which kinds of tokens were spent. */
  hasCounts: flag,
  delegatedTokens: integer,
  savedTokens: integer,
  overrun: flag,
};

export const FACTS = { ...KEY, ...ORIGIN, ...COURSE };

/** What is known of one task at one profile, from the events of that profile alone. Times are ms since the epoch. */
export type TaskFacts = { readonly [F in keyof typeof FACTS]: ReturnType<(typeof FACTS)[F]> } & {
  readonly counts: Counts;
};

function stateIn(row: Row): TaskState {
  const state = text(row, 'state');
  return TASK_STATES.find((known) => known === state) ?? 'submitted';
}
