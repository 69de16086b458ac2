import type { Ledger, TaskEvent, TaskState } from '@hermes-fleet/ledger';
import { impliedState, isTerminal } from '@hermes-fleet/ledger';
import { type Clock, isJsonObject, type Log } from '@hermes-fleet/protocol';
import { type CostOptions, costView } from '../http/cost-view.ts';

/** The minimum time between two notifications of a call: what a slow client leaves unread is bounded. */
const MIN_INTERVAL_MS = 250;

export interface ProgressOptions extends CostOptions {
  readonly ledger: Pick<Ledger, 'tokens' | 'get' | 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: string) => void;
}

/**
 * Sends one line whenever the task's state, peer or tool changes, with its tokens against its budget. Lines that follow
 * each other too fast are replaced by the latest. Resolves when the task has
 * ended, when it waits for its caller, and when `signal` aborts; an error ends the
 * notifications, but not the wait for the task.
 */
export async function followProgress(
  options: ProgressOptions,
  taskId: string,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock, log } = options;
  const doing: Doing = { state: 'submitted', peer: undefined, tool: undefined, reported: 0 };
  let isPending = false;
  let pause: Disposable | undefined;
  const failed = (error: unknown): void =>
    log.warn({ err: error, task: taskId }, 'progress of a task cannot be followed');
  const send = (): void => {
    isPending = false;
    try {
      options.send(line(doing, taskId, options));
    } catch (error) {
      failed(error);
    }
  };
  const flush = (): void => {
    pause = undefined;
    if (!isPending) return;
    send();
    pause = clock.timer(flush, MIN_INTERVAL_MS);
  };
  try {
    for await (const event of ledger.watch(taskId, 0, signal)) {
      if (event.type === 'text') continue;
      note(doing, event);
      isPending = true;
      if (!pause) flush();
      if (doing.state === 'input_required' && event.seq === ledger.get(taskId)?.lastSeq) break;
    }
  } catch (error) {
    if (!signal.aborted) failed(error);
  } finally {
    pause?.[Symbol.dispose]();
    if (isPending) send();
  }
}

/** What a task does, as far as its events say. */
interface Doing {
  state: TaskState;
  peer: string | undefined;
  tool: string | undefined;
  /** Tokens that the peer says it has spent so far; they are booked with its result. */
  reported: number;
}

function note(doing: Doing, { type, data }: TaskEvent): void {
  const state = impliedState(type);
  if (state !== undefined) doing.state = state;
  if (type === 'delegated') doing.peer = textOf(data.peer);
  if (type === 'rerouted') doing.peer = textOf(data.to);
  if (type === 'progress') doing.state = 'working';
  // An event of a part that the task delegated says nothing of its own tool and tokens.
  if (data.part !== undefined) return;
  if (type === 'delegated' || type === 'rerouted' || (state !== undefined && isTerminal(state))) {
    doing.tool = undefined;
    doing.reported = 0;
  }
  if (type === 'progress' && data.peer !== undefined && typeof data.spent_tokens === 'number')
    doing.reported = data.spent_tokens;
  const tool = textOf(data.tool);
  if (type === 'progress' && tool !== undefined) doing.tool = data.phase === 'ended' ? undefined : tool;
}

/** `working at neo · terminal · 1200 of 5000 tokens` */
function line({ state, peer, tool, reported }: Doing, taskId: string, options: ProgressOptions): string {
  const task = options.ledger.get(taskId);
  const cost = task ? costView(task, options) : undefined;
  const budget = isJsonObject(cost?.budget) ? ` of ${String(cost.budget.token_budget)}` : '';
  return [
    `${state}${peer === undefined ? '' : ` at ${peer}`}`,
    ...(tool === undefined ? [] : [tool]),
    `${Math.max(Number(cost?.tokens_spent ?? 0), reported)}${budget} tokens`,
  ].join(' · ');
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, 100) : undefined;
