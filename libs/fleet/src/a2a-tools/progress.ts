import type { PeerTask } from '@hermes-fleet/a2a';
import type { Clock, ToolCall } from '@hermes-fleet/protocol';
import type { RemoteAgent } from './directory.ts';
import { stateOf } from './state.ts';

const EVERY_MS = 1_000;
/** Of one call: each is an event of the task's for good. */
const MAX_TOLD = 100;

/**
 * Tells the task's caller how an agent's task goes on: its state and how much it has said, never what. At most one event
 * a second and a hundred in all; a change of state is told at once, twenty times.
 */
export function createProgress(call: ToolCall, tool: string, clock: Clock) {
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastState = '';
  let changes = 0;
  let told = 0;
  return async (agent: RemoteAgent, task: PeerTask): Promise<void> => {
    const state = stateOf(task);
    const isChange = state !== lastState && changes < 20;
    if (told >= MAX_TOLD || (!isChange && clock.now() - lastAt < EVERY_MS)) return;
    if (isChange) changes += 1;
    told += 1;
    lastAt = clock.now();
    lastState = state;
    const chars = task.text.length;
    await call.report({ type: 'progress', data: { tool, agent: agent.label, state, chars } });
  };
}
