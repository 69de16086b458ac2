import type { PeerTask } from '@hermes-fleet/a2a';

const STATES = new Set([
  ...['submitted', 'working', 'input_required', 'auth_required'],
  ...['completed', 'failed', 'canceled', 'rejected'],
]);

/** The state of an agent's task, in a word of A2A's: what an agent made up is not passed on. */
export function stateOf({ state }: Pick<PeerTask, 'state'>): string {
  return STATES.has(state) ? state : 'unknown';
}
