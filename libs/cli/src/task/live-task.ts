import { EVENT_METADATA, type PeerTask } from '@hermes-fleet/a2a/client';
import {
  type A2AState,
  isA2AState,
  isJsonObject,
  type JsonObject,
  type LifecycleEvent,
} from '@hermes-fleet/protocol';
import { sanitize as visible } from '../command-line/output.ts';

/** The state that the live view of a task shows. */
export interface LiveTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  /** The peer that has the task, if it was relayed. */
  readonly peer?: string | undefined;
  /** The tool that runs now. */
  readonly tool?: string | undefined;
  readonly spent: number;
  readonly budget?: number | undefined;
  /** Why it waits, in words. */
  readonly waiting?: string | undefined;
}

/** The state of the view after an update; pure, so that a view is the same for the same updates. */
export function nextView(view: LiveTask | undefined, task: PeerTask): LiveTask {
  const base = view ?? { spent: 0 };
  const shown = { ...base, id: task.id, contextId: task.contextId, state: task.state };
  const event = task.updateMetadata?.[EVENT_METADATA];
  if (!isJsonObject(event) || !isJsonObject(event.data)) return shown;
  return { ...shown, ...changesOf(String(event.type), event.data) };
}

type Changes = Partial<Omit<LiveTask, 'id' | 'contextId' | 'state'>>;

/** What an event changes (docs/events.md#the-events). Events of a part that the task delegated name it in `part`. */
function changesOf(type: string, data: JsonObject): Changes {
  return data.part === undefined && isTaskEvent(type) ? CHANGES[type](data) : {};
}

const isTaskEvent = (type: string): type is LifecycleEvent => Object.hasOwn(CHANGES, type);
const none = (): Changes => ({});
const goesOn = (): Changes => ({ waiting: undefined });
const atPeer = (peer: unknown): Changes => ({ peer: textOf(peer), tool: undefined, waiting: undefined });
const ended = (data: JsonObject): Changes => ({
  tool: undefined,
  waiting: undefined,
  ...numberOf('spent', data.tokens_spent),
});

const CHANGES: Readonly<Record<LifecycleEvent, (data: JsonObject) => Changes>> = {
  submitted: none,
  blocked: ended,
  queued: ({ waiting, reason, detail }) => ({
    waiting: waiting === true ? waitsFor(textOf(reason), textOf(detail)) : undefined,
  }),
  started: goesOn,
  progress: progressOf,
  delegated: ({ peer }) => atPeer(peer),
  rerouted: ({ to }) => atPeer(to),
  input_required: none,
  answered: goesOn,
  artifact: none,
  resumed: goesOn,
  alert: none,
  done: ended,
  partial: ended,
  error: ended,
  canceled: ended,
};

const waitsFor = (kind = 'a free place', detail?: string): string =>
  detail === undefined ? kind : `${kind}: ${detail}`;

function progressOf(data: JsonObject): Changes {
  const peer = textOf(data.peer);
  const tool = textOf(data.tool);
  return {
    ...(peer === undefined ? {} : { peer }),
    ...(tool === undefined ? {} : { tool: data.phase === 'ended' ? undefined : tool }),
    ...numberOf('spent', data.spent_tokens),
    ...numberOf('budget', data.budget_tokens),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const numberOf = (key: 'spent' | 'budget', value: unknown): Changes =>
  typeof value === 'number' ? { [key]: value } : {};

export interface LineOptions {
  readonly elapsedMs: number;
  /** The time from the start of the view to the task's deadline. */
  readonly deadlineMs?: number | undefined;
  /** The columns of the terminal. */
  readonly width: number;
  readonly colours: boolean;
}

const BAR = 10;
const COLOURS: Readonly<Record<A2AState, string | undefined>> = {
  submitted: undefined,
  working: '\u001b[36m',
  input_required: '\u001b[33m',
  auth_required: undefined,
  completed: '\u001b[32m',
  failed: '\u001b[31m',
  rejected: '\u001b[31m',
  canceled: '\u001b[33m',
};

/** The one line of a task: state, peer, tool, tokens against budget, elapsed time against deadline. */
export function lineOf(view: LiveTask, { elapsedMs, deadlineMs, width, colours }: LineOptions): string {
  const rest = [
    ...(view.peer === undefined ? [] : [`at ${view.peer}`]),
    ...(view.tool === undefined ? [] : [view.tool]),
    ...(view.waiting === undefined ? [] : [`waits for ${view.waiting}`]),
    ...tokensOf(view),
    `${duration(elapsedMs)}${deadlineMs === undefined ? '' : ` of ${duration(deadlineMs)}`}`,
  ].map(visible);
  const state = visible(view.state.replaceAll('_', ' ')).padEnd(10);
  const line = [state, ...rest].join('  ').slice(0, Math.max(width - 1, 20));
  const colour = colours && isA2AState(view.state) ? COLOURS[view.state] : undefined;
  return colour === undefined
    ? line
    : `${colour}${line.slice(0, state.length)}\u001b[0m${line.slice(state.length)}`;
}

function tokensOf({ spent, budget }: LiveTask): string[] {
  if (budget === undefined || budget <= 0) return spent === 0 ? [] : [`${spent} tokens`];
  const full = Math.min(BAR, Math.max(0, Math.round((spent / budget) * BAR)));
  return [`${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${spent}/${budget} tokens`];
}

/** A duration in the two largest units that it has. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours > 0) return two([hours, 'h'], [minutes % 60, 'min']);
  return minutes > 0 ? two([minutes, 'min'], [seconds % 60, 's']) : `${seconds} s`;
}

const two = ([more, unit]: [number, string], [rest, part]: [number, string]): string =>
  rest === 0 ? `${more} ${unit}` : `${more} ${unit} ${rest} ${part}`;
