import type { Decimal } from 'decimal.js';
import { type Account, bought, openAccount, sold } from '../broker/account.ts';
import type { Order } from '../broker/order.ts';
import { createNetProfit } from '../performance/net-profit.ts';
import { createPerformance, type PerformanceFigures } from '../performance/performance.ts';
import type { Market } from '../terms/market.ts';
import { ZERO } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { createEquityCurve, type EquityPoint } from './equity-curve.ts';

/** The profit of a sale. */
export interface SaleProfit {
  readonly realized: Decimal;
  readonly net: Decimal;
}

/** The account of an engine, kept again from its fills alone, and measured bar by bar. */
export interface SimulatedAccount {
  /** Before the fills of the first bar. */
  open(bar: Bar): void;
  /** The profit of a sale; undefined for a buy. */
  fill(order: Order): SaleProfit | undefined;
  /** After the fills of the bar. */
  close(bar: Bar): void;
  figures(): PerformanceFigures;
  curve(): readonly EquityPoint[];
}

export function createSimulatedAccount({ balances }: Market): SimulatedAccount {
  let account: Account = openAccount(balances.quote, balances.base, ZERO);
  let performance = createPerformance();
  const netProfit = createNetProfit();
  const curve = createEquityCurve();
  return {
    open: ({ open }) => {
      account = openAccount(balances.quote, balances.base, open);
      performance = createPerformance({ opening: account.cash.plus(account.basis) });
    },
    fill: ({ id, side, quantity, fillPrice, fee }) => {
      if (fillPrice === undefined || fee === undefined)
        throw new Error(`order ${id} is filled without a price`);
      const before = account;
      account = (side === 'buy' ? bought : sold)(before, { quantity, price: fillPrice, fee });
      const realized = account.realized.minus(before.realized);
      const net = netProfit.fill({ side, quantity, fee, held: before.position, realized });
      const sale = net === undefined ? undefined : { realized, net };
      performance.fill({ fee, sale });
      return sale;
    },
    close: ({ at, close }) => {
      const positionValue = account.position.times(close);
      const equity = account.cash.plus(positionValue);
      performance.bar({ at, equity, positionValue });
      curve.add({ at, equity, close });
    },
    figures: () => performance.figures(),
    curve: () => curve.points(),
  };
}
