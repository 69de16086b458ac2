import { type Budget, ToolError } from '@hermes-fleet/protocol/ports';

/** A subtask's share of the budget, fixed when the subtask begins; a restart does not change it. */
export interface BudgetSlice {
  /** Tokens; absent without a limit. */
  readonly limit?: number | undefined;
  /** The tokens that the run's peers had spent before. */
  readonly before: number;
}

/** Tokens reserved for a run without steps, which cannot estimate the cost of the next one. */
const MIN_RESERVE = 1_000;

/**
 * Takes a slice of a run's remaining budget (docs/handshake.md#tokens): half of it, or the requested tokens, and never
 * what the run itself needs to finish. Throws a ToolError when nothing is left to give.
 */
export function sliceOf(budget: Budget, requested: number | undefined): BudgetSlice {
  const { inputTokens, delegatedTokens: before = 0 } = budget.usage();
  const left = budget.remaining();
  if (!Number.isFinite(left)) return { limit: requested, before };
  // Every step sends the whole conversation, so the next step costs less than all steps so far.
  const reserve = Math.min(Math.ceil(left / 2), Math.max(MIN_RESERVE, inputTokens));
  const limit = requested === undefined ? Math.floor(left / 2) : Math.min(requested, left - reserve);
  if (limit >= 1) return { limit, before };
  throw new ToolError(
    `there is nothing left to delegate: ${left} tokens of the budget remain; finish yourself`,
  );
}

/**
 * A slice as a budget of its own, booked on the run's budget. A run's calls are sequential, so everything that its peers
 * spend beyond `before` belongs to this subtask.
 */
export function subtaskBudget(whole: Budget, { limit, before }: BudgetSlice): Budget {
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
