import { FleetError } from '@hermes-fleet/protocol';
import type { Budget } from '@hermes-fleet/protocol/ports';

/** The default slice, as a share of the remaining budget. */
const SHARE = 1 / 3;

/**
 * The tokens that an agent may spend: the requested amount, or a third of the remaining budget. The slice never includes
 * the tokens that the caller needs to finish. Infinity if neither task nor call sets a budget; 0 if nothing is left.
 */
export function sliceTokens(options: {
  readonly remainingTokens: number;
  readonly callerNeedsTokens: number;
  readonly askedTokens: number | undefined;
}): number {
  const most = Math.max(0, options.remainingTokens - options.callerNeedsTokens);
  return Math.min(options.askedTokens ?? Math.floor(options.remainingTokens * SHARE), Math.floor(most));
}

/**
 * A budget that draws from the whole one until the whole task has spent `ceilingTokens`. The limit survives restarts,
 * because the task's spent tokens do.
 */
export function sliceBudget(whole: Budget, ceilingTokens: number): Budget {
  const remaining = (): number => Math.max(0, Math.min(whole.remaining(), ceilingTokens - whole.spent()));
  return {
    limit: whole.limit,
    spent: () => whole.spent(),
    remaining,
    async reserve({ inputTokens, maxOutputTokens }) {
      const room = Math.min(maxOutputTokens, remaining() - inputTokens);
      if (room < Math.min(1, maxOutputTokens))
        throw new FleetError(
          'BUDGET_EXHAUSTED',
          `a model call with ${inputTokens} input tokens does not fit into the ${remaining()} tokens left of the budget slice`,
        );
      return whole.reserve({ inputTokens, maxOutputTokens: room });
    },
    addDelegated: (tokens, work) => whole.addDelegated(tokens, work),
    delegatedTo: (work) => whole.delegatedTo(work),
    usage: () => whole.usage(),
  };
}
