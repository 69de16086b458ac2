import { FleetError } from '@hermes-fleet/protocol';
import type { Budget } from '@hermes-fleet/protocol/ports';
import type { BudgetShare } from '../run/budget-share.ts';

/**
 * Makes equal shares for the keys that have none, of what the open shares leave. One share more stays for the caller, so
 * that all delegations together leave it as much as one of them gets.
 */
export function addShares(
  shares: Record<string, BudgetShare>,
  keys: readonly string[],
  whole: Pick<Budget, 'remaining' | 'spent'>,
): void {
  const open = Object.values(shares).reduce(
    (sum, { limit = 0, spent }) => sum + Math.max(0, limit - spent),
    0,
  );
  const fresh = keys.filter((key) => !Object.hasOwn(shares, key));
  const each = Math.floor(Math.max(0, whole.remaining() - open) / (fresh.length + 1));
  const before = whole.spent();
  for (const key of fresh) shares[key] = { before, spent: 0, ...(Number.isFinite(each) && { limit: each }) };
}

/** A budget that draws on the whole one, up to a share. What others spend meanwhile does not count. */
export function sharedBudget(whole: Budget, share: BudgetShare): Budget {
  const remaining = (): number =>
    Math.max(0, Math.min(whole.remaining(), (share.limit ?? Number.POSITIVE_INFINITY) - share.spent));
  return {
    limit: whole.limit,
    spent: () => share.before + share.spent,
    remaining,
    async reserve({ inputTokens, maxOutputTokens }) {
      const room = Math.min(maxOutputTokens, remaining() - inputTokens);
      if (room < Math.min(1, maxOutputTokens))
        throw new FleetError(
          'BUDGET_EXHAUSTED',
          `a model call with ${inputTokens} input tokens does not fit into the ${remaining()} tokens left of this share of the budget`,
        );
      const estimate = inputTokens + room;
      share.spent += estimate;
      try {
        const reservation = await whole.reserve({ inputTokens, maxOutputTokens: room });
        return {
          async settle(usage) {
            share.spent += usage.inputTokens + usage.outputTokens - estimate;
            await reservation.settle(usage);
          },
        };
      } catch (error) {
        share.spent -= estimate;
        throw error;
      }
    },
    async addDelegated(tokens, work) {
      share.spent += tokens;
      await whole.addDelegated(tokens, work);
    },
    delegatedTo: (work) => whole.delegatedTo(work),
    usage: () => whole.usage(),
  };
}
