import type { TaskDispatch } from '@hermes-fleet/protocol';

/** Tokens that a blocked task would have cost: its budget, else what its brief alone comes to (some 4 bytes each). */
export function estimateTokens(dispatch: TaskDispatch): number {
  return dispatch.task.tokenBudget ?? Math.ceil(Buffer.byteLength(dispatch.brief) / 4);
}
