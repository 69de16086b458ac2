import type { BookEntry } from '../src/terms/books.ts';
import { money, text, ZERO } from '../src/terms/money.ts';

/** The account that follows from the balances and fills of books alone, computed apart from the engine. */
export function accountOf(entries: readonly BookEntry[]): Record<string, string> {
  let [cash, position, realized, fees] = [ZERO, ZERO, ZERO, ZERO];
  for (const entry of entries) {
    if (entry.kind === 'account') {
      [cash, position] = [money(entry.cash), money(entry.position)];
      [realized, fees] = [money(entry.realizedPnl), money(entry.feesPaid)];
    } else if (entry.kind === 'order' && entry.event === 'filled') {
      const { side, quantity, fillPrice = 'NaN', fee = 'NaN' } = entry.order;
      const moved = money(quantity).times(money(side === 'buy' ? '1' : '-1'));
      cash = cash.minus(moved.times(money(fillPrice))).minus(money(fee));
      position = position.plus(moved);
      realized = realized.plus(money(entry.realizedPnl ?? '0'));
      fees = fees.plus(money(fee));
    }
  }
  return { cash: text(cash), position: text(position), realizedPnl: text(realized), feesPaid: text(fees) };
}
