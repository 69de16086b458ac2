import { type Account, bought, openAccount, sold } from '../broker/account.ts';
import type { Order } from '../broker/order.ts';
import { createNetProfit } from '../performance/net-profit.ts';
import { createPerformance, type SaleProfit } from '../performance/performance.ts';
import type { Market } from '../terms/market.ts';
import { ZERO } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { createEquityCurve } from './equity-curve.ts';

/** The account of an engine, kept again from its fills alone, and measured bar by bar. */
export function createSimulatedAccount({ balances }: Market) {
  let account: Account = openAccount(balances.quote, balances.base, ZERO);
  let performance = createPerformance();
  const netProfit = createNetProfit();
  const curve = createEquityCurve();
  return {
    /** Before the fills of the first bar. */
    open: ({ open }: Bar): void => {
      account = openAccount(balances.quote, balances.base, open);
      performance = createPerformance({ opening: account.cash.plus(account.basis) });
    },
    /** The profit of a sale; undefined for a buy. */
    fill: ({ id, side, quantity, fillPrice, fee }: Order): SaleProfit | undefined => {
      if (fillPrice === undefined || fee === undefined)
        throw new Error(`order ${id} is filled without a price`);
      const before = account;
      account = (side === 'buy' ? bought : sold)(before, { quantity, price: fillPrice, fee });
      const realized = account.realized.minus(before.realized);
      const net = netProfit({ side, quantity, fee, held: before.position, realized });
      const sale = net === undefined ? undefined : { realized, net };
      performance.fill({ fee, sale });
      return sale;
    },
    /** After the fills of the bar. */
    close: ({ at, close }: Bar): void => {
      const positionValue = account.position.times(close);
      const equity = account.cash.plus(positionValue);
      performance.bar({ at, equity, positionValue });
      curve.add({ at, equity, close });
    },
    figures: () => performance.figures(),
    curve: curve.points,
  };
}
