import {
  CONSOLE_STATES,
  type EndEvent,
  isJsonObject,
  type LifecycleEvent,
  TASK_EVENTS,
  TERMINAL_EVENTS,
} from '@hermes-fleet/protocol';
import { flag, integer, integerOrNull, oneOf, type Row, text, textOrNull } from '@hermes-fleet/store';
import type { TaskEvent } from './event.ts';
import { countIn, objectsIn, textIn, timeIn } from './fields.ts';

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
export const countsBy = (of: (kind: Kind, wire: keyof Usage) => number): Counts => ({
  input: of('input', TOKENS.input),
  output: of('output', TOKENS.output),
  cacheRead: of('cacheRead', TOKENS.cacheRead),
  cacheWrite: of('cacheWrite', TOKENS.cacheWrite),
  reasoning: of('reasoning', TOKENS.reasoning),
});

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
  state: (row: Row) => oneOf(row, 'state', CONSOLE_STATES),
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

/** Own tokens of a task, to be added to the spending at `at`. A correction at the end of a task may be negative. */
export interface Booking {
  readonly tokens: number;
  readonly counts: Counts;
}

/** The end of a task, for the sums. */
export interface Ended {
  /** The unmet requirements of a blocked task. */
  readonly unmet: readonly { readonly kind: string; readonly name: string }[];
}

export interface Change {
  readonly task: TaskFacts;
  readonly booking?: Booking;
  readonly ended?: Ended;
}

type Data = TaskEvent['data'];
/** What an event changes beside the state of its task, which is that of TASK_EVENTS already. */
type Step = (task: TaskFacts, event: TaskEvent) => Change;

/**
 * What an event changes in the facts of its task: a pure function of the task's own earlier events, so that the order in
 * which the events of several profiles arrive does not matter.
 */
export function projectTask(before: TaskFacts | undefined, event: TaskEvent): Change {
  const task = withIdentity(before ?? newTask(event), event);
  const { type } = event;
  // A task has one end, its last event.
  if (task.endedAt !== null) return { task };
  if (isEnd(type)) return ended(task, event, type);
  if (isPart(event.data)) return { task };
  const state = TASK_EVENTS[type].console ?? task.state;
  const moved: TaskFacts = { ...task, state };
  return STEPS[type]?.(moved, event) ?? { task: moved };
}

function newTask({ profile, id, at, traceId }: TaskEvent): TaskFacts {
  return {
    ...{ profile, id, taskId: id, contextId: '', caller: '', traceId },
    ...{ rootId: null, rootCaller: null, parentTaskId: null, parentProfile: null, entered: true },
    ...{ state: 'submitted', peer: null, tool: null, priority: null, target: null },
    ...{ spentTokens: 0, budgetTokens: null, ownTokens: 0, delegatedTokens: 0, savedTokens: 0 },
    ...{ counts: NO_COUNTS, hasCounts: false, overrun: false, model: null, modelTier: null },
    ...{ submittedAt: at, startedAt: null, endedAt: null, deadlineAt: null, reason: null, reroutes: 0 },
  };
}

/** The fields that every event has. */
function withIdentity(task: TaskFacts, { data, traceId }: TaskEvent): TaskFacts {
  const parentTaskId = textIn(data.parent_task_id) ?? task.parentTaskId;
  return {
    ...task,
    caller: textIn(data.caller) ?? task.caller,
    parentTaskId,
    rootId: textIn(data.root_id) ?? task.rootId,
    taskId: textIn(data.task_id) ?? task.taskId,
    contextId: textIn(data.context_id) ?? task.contextId,
    rootCaller: textIn(data.root_caller) ?? task.rootCaller,
    parentProfile: textIn(data.parent_profile) ?? task.parentProfile,
    entered: parentTaskId === null,
    traceId: task.traceId ?? traceId,
  };
}

const isPart = (data: Data): boolean => data.part !== undefined;

const STEPS: Readonly<Partial<Record<LifecycleEvent, Step>>> = {
  submitted: (task, { data, at }) => ({
    task: {
      ...task,
      submittedAt: at,
      priority: textIn(data.priority, 32),
      target: textIn(data.target),
      budgetTokens: countIn(data.budget_tokens),
      deadlineAt: timeIn(data.deadline),
    },
  }),
  queued: (task, { data }) => {
    const priority = textIn(data.priority, 32) ?? task.priority;
    const state = data.waiting === true ? 'waiting' : data.paused === true ? 'paused' : task.state;
    return { task: { ...task, priority, state, tool: null } };
  },
  started: (task, { data, at, profile }) => {
    const modelTier = textIn(data.model_tier) ?? task.modelTier;
    const model = textIn(data.model) ?? task.model;
    const peer = task.peer ?? (modelTier === null || modelTier === NO_TIER ? null : profile);
    return { task: { ...task, startedAt: task.startedAt ?? at, model, modelTier, peer } };
  },
  progress: (task, { data }) => {
    const usage = isJsonObject(data.usage) ? countsOf(data.usage, NO_COUNTS) : undefined;
    const spent = Math.max(task.spentTokens, countIn(data.spent_tokens) ?? 0);
    const budgetTokens = task.budgetTokens ?? countIn(data.budget_tokens);
    const model = (usage && textIn(data.model)) ?? task.model;
    const tool = toolNow(task, data);
    const moved: TaskFacts = { ...task, spentTokens: spent, budgetTokens, model, tool };
    return usage ? booked(moved, usage.input + usage.output, usage) : { task: moved };
  },
  delegated: (task, { data }) => ({ task: { ...task, peer: textIn(data.peer) ?? task.peer, tool: null } }),
  rerouted: (task, { data }) => ({
    task: { ...task, peer: textIn(data.to) ?? task.peer, reroutes: task.reroutes + 1 },
  }),
};

/** The tier of a task that is relayed: no model of the profile works on it. */
export const NO_TIER = 'none';

function toolNow(task: TaskFacts, data: Data): string | null {
  const tool = textIn(data.tool);
  if (tool === null || typeof data.phase !== 'string') return task.tool;
  return data.phase === 'started' ? tool : null;
}

function ended(task: TaskFacts, { data, at }: TaskEvent, type: EndEvent): Change {
  const spentTokens = countIn(data.tokens_spent) ?? task.spentTokens;
  const peer = textIn(data.executed_by) ?? task.peer;
  const usage = isJsonObject(data.usage) ? countsOf(data.usage, task.counts) : undefined;
  const own = countIn(data.own_tokens) ?? 0;
  const unmet = objectsIn(data.unmet).flatMap(({ kind, name }) => {
    const known = textIn(kind, 64);
    return known === null ? [] : [{ kind: known, name: textIn(name, 100) ?? '' }];
  });
  const budgetTokens = countIn(data.budget_tokens) ?? task.budgetTokens;
  const closed: TaskFacts = {
    ...task,
    ...{ state: TASK_EVENTS[type].console, endedAt: at, tool: null, peer, spentTokens, budgetTokens },
    model: textIn(data.model) ?? task.model,
    modelTier: textIn(data.model_tier) ?? task.modelTier,
    reason: reasonOf(type, data, unmet[0]?.kind),
    delegatedTokens: countIn(data.delegated_tokens) ?? 0,
    savedTokens: type === 'blocked' && task.entered ? (countIn(data.saved_tokens) ?? budgetTokens ?? 0) : 0,
    overrun: data.overrun === true,
  };
  const missing = countsBy((kind) => (usage ?? task.counts)[kind] - task.counts[kind]);
  const hasCounts = task.hasCounts || usage !== undefined;
  const change = booked(closed, own - task.ownTokens, missing);
  return { ...change, task: { ...change.task, hasCounts }, ended: { unmet } };
}

const isEnd = (type: LifecycleEvent): type is EndEvent => TERMINAL_EVENTS.has(type);

function reasonOf(type: EndEvent, data: Data, unmet: string | undefined): string | null {
  if (type === 'blocked') return textIn(data.reason, 64) ?? unmet ?? 'unknown';
  return type === 'done' || type === 'partial' ? null : textIn(data.error, 100);
}

function booked(task: TaskFacts, tokens: number, counts: Counts): Change {
  const change = {
    ...task,
    ownTokens: task.ownTokens + tokens,
    counts: sumOfCounts([task.counts, counts]),
    hasCounts: true,
  };
  return { task: change, booking: { tokens, counts } };
}

/** The counts of `usage` in an event; those that it does not say are as before. */
const countsOf = (usage: Data, before: Counts): Counts =>
  countsBy((kind, wire) => countIn(usage[wire]) ?? before[kind]);
