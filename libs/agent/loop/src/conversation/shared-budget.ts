import { FleetError } from '@hermes-fleet/protocol';
import type { Budget } from '@hermes-fleet/protocol/ports';
import type { BudgetShare } from '../run/run-state.ts';

/** Shares equally, for the keys that have none, what the open shares leave. One share more stays for the caller. */
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
export const sharedBudget = (whole: Budget, share: BudgetShare): Budget =>
  partOf(whole, {
    left: () => (share.limit ?? Number.POSITIVE_INFINITY) - share.spent,
    spent: () => share.before + share.spent,
    count(tokens) {
      share.spent += tokens;
    },
  });

/** A budget that draws on the whole one while tokens of the part are `left`. `count` is told of each change of the part. */
export function partOf(
  whole: Budget,
  part: { left(): number; spent(): number; count(tokens: number): void },
): Budget {
  const remaining = (): number => Math.max(0, Math.min(whole.remaining(), part.left()));
  return {
    limit: whole.limit,
    spent: part.spent,
    remaining,
    async reserve({ inputTokens, maxOutputTokens }) {
      const room = Math.min(maxOutputTokens, remaining() - inputTokens);
      if (room < Math.min(1, maxOutputTokens))
        throw new FleetError(
          'BUDGET_EXHAUSTED',
          `a model call with ${inputTokens} input tokens does not fit into the ${remaining()} tokens left of this share of the budget`,
        );
      const estimate = inputTokens + room;
      part.count(estimate);
      const reserved = whole.reserve({ inputTokens, maxOutputTokens: room });
      const reservation = await reserved.catch((error: unknown) => {
        part.count(-estimate);
        throw error;
      });
      return {
        async settle(usage) {
          part.count(usage.inputTokens + usage.outputTokens - estimate);
          await reservation.settle(usage);
        },
      };
    },
    async addDelegated(tokens, work) {
      part.count(tokens);
      await whole.addDelegated(tokens, work);
    },
    delegatedTo: (work) => whole.delegatedTo(work),
    usage: () => whole.usage(),
  };
}
