import { type TaskState as A2AState, taskStateFromJSON } from '@a2a-js/sdk';
import { TASK_STATES, TaskState } from '@hermes-fleet/protocol';

/** The A2A state of a ledger state. A queued task is SUBMITTED, because A2A has no queued state. */
export function a2aState(state: TaskState): A2AState {
  return taskStateFromJSON(`TASK_STATE_${TASK_STATES[state].a2a.toUpperCase()}`);
}

/** The ledger states of an A2A state; empty for a state that the ledger does not have. */
export function ledgerStates(state: A2AState): TaskState[] {
  return TaskState.options.filter((name) => a2aState(name) === state);
}
