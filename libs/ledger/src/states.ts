import { FleetError, LifecycleEvent, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { NewEvent, TaskChange, TaskState } from './types.ts';

const TERMINAL_STATES: ReadonlySet<TaskState> = new Set<TaskState>([
  'completed',
  'failed',
  'rejected',
  'canceled',
]);

/** The state that an event leads to by itself (design 2, TASK_RESULT); other events leave the state as it is. */
const STATE_AFTER: Readonly<Partial<Record<string, TaskState>>> = {
  submitted: 'submitted',
  queued: 'queued',
  started: 'working',
  resumed: 'queued',
  input_required: 'input_required',
  // Whoever asked waits for its turn to go on.
  answered: 'queued',
  done: 'completed',
  partial: 'completed',
  blocked: 'rejected',
  error: 'failed',
  canceled: 'canceled',
};

/** The state that an event of the log leads to by itself; undefined for one that leaves the state as it is. */
export function impliedState(eventType: string): TaskState | undefined {
  return STATE_AFTER[eventType];
}

/** Whether a task in this state has ended. */
export function isTerminal(state: TaskState): boolean {
  return TERMINAL_STATES.has(state);
}

/**
 * The state of a task after an event: what the change says, else what the event means, else what it was. Throws
 * INTERNAL for an event that nobody knows, and for one that contradicts its state: only terminal events end a task,
 * and they always do.
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
