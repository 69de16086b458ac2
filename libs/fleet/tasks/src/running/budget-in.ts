import type { JsonObject } from '@hermes-fleet/protocol';

/** The budget in the `task` of a dispatch that may not have been read; undefined without a whole number of tokens. */
export function budgetIn({ token_budget }: JsonObject): number | undefined {
  return typeof token_budget === 'number' && Number.isSafeInteger(token_budget) ? token_budget : undefined;
}
