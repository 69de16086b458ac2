import { z } from 'zod';

/*
 * The words for what a task is in, one table for each vocabulary, and how they follow from each other. Types, lists and rows of
 * the documentation come from here (docs/handshake.md#task-states).
 */

/** The states of A2A by their short names, and what a task does in each: it goes on, asks its caller, or has ended. */
const A2A_STATES = {
  submitted: 'goes on',
  working: 'goes on',
  input_required: 'asks',
  auth_required: 'asks',
  completed: 'ended',
  failed: 'ended',
  rejected: 'ended',
  canceled: 'ended',
} as const satisfies Record<string, 'goes on' | 'asks' | 'ended'>;
export type A2AState = keyof typeof A2A_STATES;

/** True for the short name of an A2A state. */
export const isA2AState = (name: string): name is A2AState => Object.hasOwn(A2A_STATES, name);

/** True for an A2A state in which a task waits for its caller. */
export const isAsking = (state: string): boolean => isA2AState(state) && A2A_STATES[state] === 'asks';

/** True for an A2A state in which a task has ended. */
export const hasEnded = (state: string): boolean => isA2AState(state) && A2A_STATES[state] === 'ended';

/** The states of a task in the ledger of its profile: the A2A state that its caller sees, and what a task does in it. */
export const TASK_STATES = {
  submitted: { a2a: 'submitted', task: 'is stored, and is judged' },
  queued: { a2a: 'submitted', task: 'waits for its turn, for a peer, or for the next start' },
  working: { a2a: 'working', task: 'runs, or is with a peer' },
  input_required: { a2a: 'input_required', task: 'asks its caller' },
  completed: { a2a: 'completed', task: 'is done, at least in part' },
  failed: { a2a: 'failed', task: 'ended with an error' },
  rejected: { a2a: 'rejected', task: 'was blocked; no token was spent' },
  canceled: { a2a: 'canceled', task: 'was canceled by its caller' },
} as const satisfies Record<string, { readonly a2a: A2AState; readonly task: string }>;
export type TaskState = keyof typeof TASK_STATES;

/** The states of a task between its acceptance and its end: what a task does in it, and what it is in the ledger. */
export const SCHEDULING_STATES = {
  submitted: {
    task: 'is judged: by admission, and for the choice of a peer, at first and after each refusal',
    ledger: 'submitted, later queued or working',
  },
  waiting: {
    task: 'waits for a peer that could take it: none could now, even with a free slot; that may pass',
    ledger: 'queued',
  },
  queued: { task: 'waits for a free slot only, or for its context', ledger: 'queued' },
  placed: { task: 'has a slot at a peer, which may have it already', ledger: 'working' },
  running: { task: 'runs here, or the peer has acknowledged it', ledger: 'working' },
  asking: {
    task: 'waits without a slot for an answer, or for a part of its work',
    ledger: 'input_required; for a part working',
  },
  ended: { task: 'has its result', ledger: 'the state of the result' },
} as const satisfies Record<string, { readonly task: string; readonly ledger: string }>;
export type SchedulingState = keyof typeof SCHEDULING_STATES;

/** The states of a task in the console: the word that the page shows, and what a task does in it. */
export const CONSOLE_STATES = {
  submitted: { word: 'submitted', task: 'is stored' },
  queued: { word: 'queued', task: 'is admitted, or continues in its turn' },
  running: { word: 'running', task: 'runs, or is with a peer' },
  waiting: { word: 'waiting', task: 'waits: no worker can take it now' },
  input_required: { word: 'asks', task: 'asks its caller' },
  paused: { word: 'paused', task: 'is set aside for the next start' },
  done: { word: 'done', task: 'has its result' },
  partial: { word: 'partial', task: 'has a part of its result' },
  blocked: { word: 'blocked', task: 'was refused by all; no token was spent' },
  error: { word: 'error', task: 'ended with an error' },
  canceled: { word: 'canceled', task: 'was canceled by its caller' },
} as const satisfies Record<string, { readonly word: string; readonly task: string }>;
export type ConsoleState = keyof typeof CONSOLE_STATES;

/** The statuses of a TASK_RESULT. */
export const RESULT_STATUSES = ['done', 'blocked', 'error', 'partial'] as const;
export type ResultStatus = (typeof RESULT_STATUSES)[number];

interface EventMeaning {
  /** The state that it leaves the task in; null if it changes none. */
  readonly ledger: TaskState | null;
  /** What the console then shows; null if that stays. */
  readonly console: ConsoleState | null;
  /** The status of the result, for the events that end a task. A task has exactly one of them, as its last event. */
  readonly result?: ResultStatus;
  /** How it stands out in a timeline. */
  readonly level: 'bad' | 'main' | 'step';
}

/** The lifecycle events of a task that are published on NATS (docs/events.md#the-events). */
export const TASK_EVENTS = {
  submitted: { ledger: 'submitted', console: 'submitted', level: 'main' },
  blocked: { ledger: 'rejected', console: 'blocked', result: 'blocked', level: 'bad' },
  queued: { ledger: 'queued', console: 'queued', level: 'step' },
  started: { ledger: 'working', console: 'running', level: 'step' },
  progress: { ledger: null, console: 'running', level: 'step' },
  delegated: { ledger: null, console: 'running', level: 'main' },
  rerouted: { ledger: null, console: null, level: 'main' },
  input_required: { ledger: 'input_required', console: 'input_required', level: 'main' },
  // The run waits for a slot before it continues.
  answered: { ledger: 'queued', console: 'queued', level: 'main' },
  artifact: { ledger: null, console: null, level: 'step' },
  resumed: { ledger: 'queued', console: 'running', level: 'main' },
  alert: { ledger: null, console: null, level: 'bad' },
  done: { ledger: 'completed', console: 'done', result: 'done', level: 'main' },
  partial: { ledger: 'completed', console: 'partial', result: 'partial', level: 'main' },
  error: { ledger: 'failed', console: 'error', result: 'error', level: 'bad' },
  canceled: { ledger: 'canceled', console: 'canceled', result: 'error', level: 'bad' },
} as const satisfies Record<string, EventMeaning>;
export type LifecycleEvent = keyof typeof TASK_EVENTS;
/** An event that ends a task. */
export type EndEvent = {
  [E in LifecycleEvent]: (typeof TASK_EVENTS)[E] extends { result: ResultStatus } ? E : never;
}[LifecycleEvent];

/** The names of a table, in its order. */
const namesOf = <N extends string>(table: Readonly<Record<N, unknown>>) => Object.keys(table) as [N, ...N[]];

export const TaskState = z.enum(namesOf(TASK_STATES));
export const ConsoleState = z.enum(namesOf(CONSOLE_STATES));
export const LifecycleEvent = z.enum(namesOf(TASK_EVENTS));

/** Events that end a task. */
export const TERMINAL_EVENTS: ReadonlySet<string> = new Set<LifecycleEvent>(
  LifecycleEvent.options.filter((event) => 'result' in TASK_EVENTS[event]),
);

/** A lifecycle event on NATS: CloudEvents 1.0, JSON format. Never contains a brief or a model's text. */
export const CloudEvent = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().regex(/^dev\.hermes-fleet\.[a-z]+\.[a-z_]+\.v\d+$/),
  subject: z.string().min(1),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  traceparent: z.string().optional(),
  data: z.record(z.string(), z.unknown()),
});
export type CloudEvent = z.infer<typeof CloudEvent>;
