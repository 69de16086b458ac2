import type { AdmittedTask, OnBlocked, RunContext } from '@hermes-fleet/protocol';
import { decodeState, encodeState, type RelayState } from './state.ts';

/** A relayed task under way: its contract, where it stands, and how to write that down. */
export interface Course {
  readonly task: AdmittedTask;
  readonly context: RunContext;
  readonly onBlocked: OnBlocked;
  /** How many peers may refuse it. */
  readonly maxAttempts: number;
  /** Where it stands, as it was saved last. */
  readonly state: RelayState;
  /** Durable when it resolves. */
  save(change: Partial<RelayState>): Promise<void>;
}

export function createCourse(
  task: AdmittedTask,
  context: RunContext,
  defaults: Pick<Course, 'onBlocked' | 'maxAttempts'>,
): Course {
  const { routing } = task.dispatch;
  let state = decodeState(context.checkpoint.load());
  return {
    task,
    context,
    onBlocked: routing?.onBlocked ?? defaults.onBlocked,
    maxAttempts: routing?.maxAttempts ?? defaults.maxAttempts,
    get state() {
      return state;
    },
    async save(change) {
      const next = { ...state, ...change };
      await context.checkpoint.save(encodeState(next));
      state = next;
    },
  };
}
