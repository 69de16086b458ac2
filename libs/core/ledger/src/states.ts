import { FleetError, LifecycleEvent, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { NewEvent, TaskChange, TaskState } from './types.ts';

export const TERMINAL_STATES: ReadonlySet<TaskState> = new Set<TaskState>([
  'completed',
  'failed',
  'rejected',
  'canceled',
]);

const STATE_AFTER: Readonly<Partial<Record<string, TaskState>>> = {
  submitted: 'submitted',
  queued: 'queued',
  started: 'working',
  resumed: 'queued',
  input_required: 'input_required',
  // The run waits for a slot before it continues.
  answered: 'queued',
  done: 'completed',
  partial: 'completed',
  blocked: 'rejected',
  error: 'failed',
  canceled: 'canceled',
};

/**
 * The state that an event implies (docs/handshake.md#task_result); undefined for an event that does not change the
 * state.
 */
export function impliedState(eventType: string): TaskState | undefined {
  return STATE_AFTER[eventType];
}

export function isTerminal(state: TaskState): boolean {
  return TERMINAL_STATES.has(state);
}

const EVENTS: ReadonlySet<string> = new Set([...LifecycleEvent.options, 'text']);

/**
 * The state that an event leaves an unfinished task in: the state of the change, else the implied state; undefined if it
 * stays. Throws INTERNAL for an unknown event and for a contradiction: terminal events, and only they, lead to a terminal
 * state and have a result.
 */
export function stateAfter(event: NewEvent, change: TaskChange | undefined): TaskState | undefined {
  if (!EVENTS.has(event.type)) {
    throw new FleetError('INTERNAL', `"${event.type}" is neither a lifecycle event nor "text"`);
  }
  const state = change?.state ?? impliedState(event.type);
  if ((state !== undefined && isTerminal(state)) !== TERMINAL_EVENTS.has(event.type)) {
    throw new FleetError('INTERNAL', `a "${event.type}" event cannot leave a task ${state}`);
  }
  if (change?.result && !TERMINAL_EVENTS.has(event.type)) {
    throw new FleetError(
      'INTERNAL',
      `a "${event.type}" event has a result, which only the end of a task has`,
    );
  }
  return state;
}

/** True for a task that has ended or waits for its caller. */
export const isSettled = (state: TaskState): boolean => state === 'input_required' || isTerminal(state);
