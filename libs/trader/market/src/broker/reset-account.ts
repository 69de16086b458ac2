import type { Market } from '../terms/market.ts';
import { ZERO } from '../terms/money.ts';
import { openAccount } from './account.ts';
import { recordAccount } from './journal.ts';
import { type EngineState, endOrder, type OrderListener } from './state.ts';

/** True if the account was opened with other balances than these. */
export const hasOtherBalances = ({ opening, counts }: EngineState, { balances }: Market): boolean =>
  counts.bars > 0 && !(opening.quote.eq(balances.quote) && opening.base.eq(balances.base));

/** Cancels all orders, and opens the account anew with the balances of the market, at the last close. */
export function resetAccount(before: EngineState, { balances }: Market, onOrder: OrderListener): EngineState {
  const last = before.bars.at(-1);
  let state = before;
  for (const order of before.open) {
    const ending = { state: 'canceled' as const, endedAt: last?.at ?? order.placedAt };
    state = endOrder(state, order, { ...ending, reason: 'the account was reset' }, onOrder);
  }
  return {
    ...state,
    opening: balances,
    account: openAccount(balances.quote, balances.base, last?.close ?? ZERO),
  };
}

/** Records the account of a state that was reset; before the first bar there is nothing to record. */
export function recordReset(state: EngineState): EngineState {
  const last = state.bars.at(-1);
  return last === undefined ? state : recordAccount(state, 'reset', last.at);
}
