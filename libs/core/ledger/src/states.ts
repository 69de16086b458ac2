import {
  FleetError,
  hasEnded,
  LifecycleEvent,
  TASK_EVENTS,
  TASK_STATES,
  TaskState,
  TERMINAL_EVENTS,
} from '@hermes-fleet/protocol';
import type { NewEvent, TaskChange } from './types.ts';

export const TERMINAL_STATES: ReadonlySet<TaskState> = new Set(
  TaskState.options.filter((state) => hasEnded(TASK_STATES[state].a2a)),
);

const STATE_AFTER: ReadonlyMap<string, TaskState | null> = new Map(
  LifecycleEvent.options.map((event) => [event, TASK_EVENTS[event].ledger]),
);

/** The state that an event implies (docs/handshake.md#task-states); undefined for an event that does not change the state. */
export function impliedState(eventType: string): TaskState | undefined {
  return STATE_AFTER.get(eventType) ?? undefined;
}

export function isTerminal(state: TaskState): boolean {
  return TERMINAL_STATES.has(state);
}

/**
 * The state that an event leaves an unfinished task in: the state of the change, else the implied state; undefined if it
 * stays. Throws INTERNAL for an unknown event and for a contradiction: terminal events, and only they, lead to a terminal
 * state and have a result.
 */
export function stateAfter(event: NewEvent, change: TaskChange | undefined): TaskState | undefined {
  if (event.type !== 'text' && !STATE_AFTER.has(event.type)) {
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
