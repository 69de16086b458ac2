import { impliedState, isTerminal, type Ledger, type TaskEvent, type TaskRecord } from '@hermes-fleet/ledger';
import type { TaskState } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type CostOptions, costView } from '../http/cost-view.ts';

/** The minimum time between two notifications of a call: what a slow client leaves unread is bounded. */
const MIN_INTERVAL_MS = 250;

interface ProgressOptions extends CostOptions {
  readonly ledger: Pick<Ledger, 'tokens' | 'get' | 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: string) => void;
}

/**
 * Waits until the task has ended, until it asks its caller, until `waitMs` have passed, or until the call need not wait
 * any longer, and returns the task as it is then. `progress` is told what the task does meanwhile.
 */
export async function awaitTask(
  options: Omit<ProgressOptions, 'ledger' | 'send'> & {
    readonly ledger: ProgressOptions['ledger'] & Pick<Ledger, 'settled'>;
  },
  taskId: string,
  call: {
    readonly waitMs: number;
    readonly signal: AbortSignal;
    readonly progress: ((message: string) => void) | undefined;
  },
): Promise<TaskRecord | undefined> {
  const { ledger, clock } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  using _ = clock.timer(() => over.abort(), call.waitMs);
  const following = call.progress
    ? followProgress({ ...options, send: call.progress }, taskId, signal)
    : undefined;
  try {
    const { lastSeq } = await ledger.settled(taskId, signal);
    // The last notification is what ended the wait.
    await following?.until(lastSeq);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    over.abort();
    await following?.ended;
  }
  return ledger.get(taskId);
}

/**
 * Sends one line whenever the task's state, peer or tool changes, with its tokens against its budget. Of lines that follow
 * each other faster than `MIN_INTERVAL_MS`, the latest is sent. The notifications end with the task, at the event that
 * `until` names, and when `signal` aborts. An error ends the notifications, but not the wait for the task.
 */
function followProgress(options: ProgressOptions, taskId: string, signal: AbortSignal) {
  const { ledger, clock, log } = options;
  const passed = new AbortController();
  const stop = AbortSignal.any([signal, passed.signal]);
  const doing: Doing = { state: 'submitted', peer: undefined, tool: undefined, reported: 0 };
  let seq = 0;
  let lastSeq = Number.POSITIVE_INFINITY;
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
  const follow = async (): Promise<void> => {
    try {
      for await (const event of ledger.watch(taskId, 0, stop)) {
        seq = event.seq;
        if (event.type !== 'text') {
          note(doing, event, ledger);
          isPending = true;
          if (!pause) flush();
        }
        if (seq >= lastSeq) break;
      }
    } catch (error) {
      if (!stop.aborted) failed(error);
    } finally {
      pause?.[Symbol.dispose]();
      if (isPending) send();
    }
  };
  const ended = follow();
  return {
    /**
     * Resolves when what the task did up to the event with this sequence is sent, or the notifications have ended before it.
     * Must be called once.
     */
    until: (last: number): Promise<void> => {
      lastSeq = last;
      if (seq >= last) passed.abort();
      return ended;
    },
    /** Resolves when the notifications have ended. */
    ended,
  };
}

/** The work of a task at this moment, as far as its events say. */
interface Doing {
  state: TaskState;
  peer: string | undefined;
  tool: string | undefined;
  /** Tokens that the peer says it has spent so far; they are booked with its result. */
  reported: number;
}

function note(doing: Doing, { taskId, type, data }: TaskEvent, ledger: Pick<Ledger, 'get'>): void {
  const state = impliedState(type);
  if (state !== undefined) doing.state = state;
  if (type === 'delegated') doing.peer = textOf(data.peer);
  if (type === 'rerouted') doing.peer = textOf(data.to);
  // A task that waits for its caller may do something else meanwhile, and waits all the same.
  const isAsking = doing.state === 'input_required' && ledger.get(taskId)?.state === 'input_required';
  if (type === 'progress' && !isAsking) doing.state = 'working';
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
  const budget = cost?.budget ? ` of ${cost.budget.token_budget}` : '';
  return [
    `${state}${peer === undefined ? '' : ` at ${peer}`}`,
    ...(tool === undefined ? [] : [tool]),
    `${Math.max(cost?.tokens_spent ?? 0, reported)}${budget} tokens`,
  ].join(' · ');
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, 100) : undefined;
