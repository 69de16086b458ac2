import { TaskState as A2AState } from '@a2a-js/sdk';
import type { TaskState } from '@hermes-fleet/ledger';

const STATES: Readonly<Record<TaskState, A2AState>> = {
  submitted: A2AState.TASK_STATE_SUBMITTED,
  queued: A2AState.TASK_STATE_SUBMITTED,
  working: A2AState.TASK_STATE_WORKING,
  input_required: A2AState.TASK_STATE_INPUT_REQUIRED,
  completed: A2AState.TASK_STATE_COMPLETED,
  failed: A2AState.TASK_STATE_FAILED,
  rejected: A2AState.TASK_STATE_REJECTED,
  canceled: A2AState.TASK_STATE_CANCELED,
};

const isState = (name: string): name is TaskState => Object.hasOwn(STATES, name);

/** The A2A state of a ledger state. A queued task is SUBMITTED, because A2A has no queued state. */
export function a2aState(state: TaskState): A2AState {
  return STATES[state];
}

/** The ledger states of an A2A state; empty for a state that the ledger does not have. */
export function ledgerStates(state: A2AState): TaskState[] {
  return Object.keys(STATES)
    .filter(isState)
    .filter((name) => STATES[name] === state);
}
