import { type Budget, FleetError } from '@hermes-fleet/protocol';

/** Of what is left, what an agent gets that no slice was asked for. */
const SHARE = 1 / 3;

/**
 * The tokens that an agent may spend: what was asked for, else a third of what is left; never what the caller needs to
 * come to its end. Infinity where neither the task nor the call names any; 0 where nothing is left to give.
 */
export function sliceTokens(o: {
  readonly remainingTokens: number;
  readonly callerNeedsTokens: number;
  readonly askedTokens: number | undefined;
}): number {
  const most = Math.max(0, o.remainingTokens - o.callerNeedsTokens);
  return Math.min(o.askedTokens ?? Math.floor(o.remainingTokens * SHARE), Math.floor(most));
}

/**
 * A budget that is spent with the whole one, up to where the whole task has spent `ceilingTokens`. It holds over
 * restarts, since what the task has spent does.
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
          `a model call with ${inputTokens} input tokens does not fit into the ${remaining()} tokens left of a slice`,
        );
      return whole.reserve({ inputTokens, maxOutputTokens: room });
    },
    addDelegated: (tokens, work) => whole.addDelegated(tokens, work),
    delegatedTo: (work) => whole.delegatedTo(work),
    usage: () => whole.usage(),
  };
}
