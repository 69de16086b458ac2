import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';

/** Estimates the cost of a task that was blocked: its token budget, else its brief at 4 bytes per token. */
export function estimateTokens(dispatch: TaskDispatch): number {
  return dispatch.task.tokenBudget ?? Math.ceil(Buffer.byteLength(dispatch.brief) / 4);
}
