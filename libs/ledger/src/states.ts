import { FleetError, LifecycleEvent, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { NewEvent, TaskChange, TaskState } from './types.ts';

const TERMINAL_STATES: ReadonlySet<TaskState> = new Set<TaskState>([
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

/**
 * The state of a task after an event: the state of the change, else the implied state, else the current one. Throws
 * INTERNAL for an unknown event and for a contradiction: terminal events, and only they, lead to a terminal state.
 */
export function stateAfter(current: TaskState, event: NewEvent, change: TaskChange | undefined): TaskState {
  if (event.type !== 'text' && !LifecycleEvent.safeParse(event.type).success) {
    throw new FleetError('INTERNAL', `"${event.type}" is neither a lifecycle event nor "text"`);
  }
  const state = change?.state ?? impliedState(event.type) ?? current;
  if (isTerminal(state) !== TERMINAL_EVENTS.has(event.type)) {
    throw new FleetError('INTERNAL', `a "${event.type}" event cannot leave a task ${state}`);
  }
  return state;
}
