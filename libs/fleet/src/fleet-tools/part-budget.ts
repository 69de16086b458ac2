import { type Budget, ToolError } from '@hermes-fleet/protocol';

/** What a part may spend, settled when it is handed out; a restart goes on with it. */
export interface Slice {
  /** Tokens; absent for no ceiling. */
  readonly limit?: number | undefined;
  /** What the run had spent through peers before. */
  readonly before: number;
}

/** Left to a run that has taken no step that shows what one costs, tokens. */
const LEAST_KEPT = 1_000;

/**
 * A slice of what a run has left (design 2, Tokens): half of it, or what is asked for, and never what the run itself needs
 * to finish. Throws a ToolError when there is nothing to give.
 */
export function sliceOf(budget: Budget, asked: number | undefined): Slice {
  const { inputTokens, delegatedTokens: before = 0 } = budget.usage();
  const left = budget.remaining();
  if (!Number.isFinite(left)) return { limit: asked, before };
  // Every step sends the conversation as it stands: all steps together took more than the next one will.
  const kept = Math.min(Math.ceil(left / 2), Math.max(LEAST_KEPT, inputTokens));
  const limit = asked === undefined ? Math.floor(left / 2) : Math.min(asked, left - kept);
  if (limit >= 1) return { limit, before };
  throw new ToolError(
    `there is nothing left to hand on: ${left} tokens of the budget remain; finish yourself`,
  );
}

/**
 * A slice as a budget of its own; what is booked on it is booked on the run's. The calls of a run come one after the
 * other: what its peers spent beyond `before` is this part's.
 */
export function partBudget(whole: Budget, { limit, before }: Slice): Budget {
  const spent = (): number => (whole.usage().delegatedTokens ?? 0) - before;
  return {
    limit,
    spent,
    remaining: () => Math.min(whole.remaining(), Math.max(0, (limit ?? Number.POSITIVE_INFINITY) - spent())),
    reserve: (estimate) => whole.reserve(estimate),
    addDelegated: (tokens, work) => whole.addDelegated(tokens, work),
    delegatedTo: (work) => whole.delegatedTo(work),
    usage: () => ({ ...whole.usage(), delegatedTokens: spent() }),
  };
}
