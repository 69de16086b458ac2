import { money, text, ZERO } from '../terms/money.ts';
import type { EngineView } from '../terms/runtime-port.ts';
import { averagePrice } from './account.ts';
import { viewOf } from './order.ts';
import { type EngineState, freeCash, reservedCash } from './state.ts';

const BPS = money('10000');
const BPS_DIGITS = 4;

/** The public view of an engine. Before the first bar the position has no known value and counts as 0. */
export function viewEngine(state: EngineState): Omit<EngineView, 'execution'> & {
  readonly execution: Omit<EngineView['execution'], 'state' | 'reasons'>;
} {
  const { account, counts } = state;
  const last = state.bars.at(-1);
  const worth = last === undefined ? ZERO : account.position.times(last.close);
  const average = last === undefined ? undefined : averagePrice(account);
  return {
    position: {
      quantity: text(account.position),
      averagePrice: average === undefined ? null : text(average),
      unrealizedPnl: text(worth.minus(account.basis)),
    },
    equity: {
      total: text(account.cash.plus(worth)),
      cash: text(freeCash(state)),
      reserved: text(reservedCash(state)),
      realizedPnl: text(account.realized),
      feesPaid: text(account.fees),
    },
    openOrders: state.open.map(viewOf),
    recentOrders: state.recent.map(viewOf),
    lastBar: last === undefined ? null : { at: new Date(last.at).toISOString(), close: text(last.close) },
    execution: {
      bars: counts.bars,
      fills: counts.fills,
      rejects: counts.rejects,
      consecutiveErrors: state.consecutiveErrors,
      averageSlippageBps: counts.slipped.isZero()
        ? null
        : text(counts.slippage.div(counts.slipped).times(BPS).toDecimalPlaces(BPS_DIGITS)),
    },
  };
}
