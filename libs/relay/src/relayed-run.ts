import type { AdmittedTask, Clock, OnBlocked, RunContext } from '@hermes-fleet/protocol';
import { decodeRelayState, encodeRelayState, type RelayState } from './relay-state.ts';

/** The run of a relayed task: its contract, its durable progress, and its context. */
export interface RelayedRun {
  readonly task: AdmittedTask;
  readonly context: RunContext;
  readonly onBlocked: OnBlocked;
  /** How many peers may refuse the task. */
  readonly maxAttempts: number;
  /** Start of this run, ms since the epoch. */
  readonly startedAt: number;
  /** As last saved. */
  readonly state: RelayState;
  /** Returns what the function finds in the state after a change, which is not kept. */
  after<T>(change: Partial<RelayState>, find: () => T): T;
  /** Durable when it resolves. */
  save(change: Partial<RelayState>): Promise<void>;
}

export function createRelayedRun(
  task: AdmittedTask,
  context: RunContext,
  defaults: Pick<RelayedRun, 'onBlocked' | 'maxAttempts'> & { readonly clock: Pick<Clock, 'now'> },
): RelayedRun {
  const { routing } = task.dispatch;
  let state = decodeRelayState(context.checkpoint.load());
  return {
    task,
    context,
    startedAt: defaults.clock.now(),
    onBlocked: routing?.onBlocked ?? defaults.onBlocked,
    maxAttempts: routing?.maxAttempts ?? defaults.maxAttempts,
    get state() {
      return state;
    },
    after(change, find) {
      const before = state;
      state = { ...state, ...change };
      try {
        return find();
      } finally {
        state = before;
      }
    },
    async save(change) {
      const next = { ...state, ...change };
      await context.checkpoint.save(encodeRelayState(next));
      state = next;
    },
  };
}
