import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { decimalText } from '../terms/decimal-text.ts';
import { greater, money, smaller, sum, ZERO } from '../terms/money.ts';
import type { Intent, OpenOrder, StrategyView, TradingStrategy } from '../terms/strategy.ts';
import { affordable, quantityFor } from './amounts.ts';
import { strategyKind } from './kind.ts';
import { averageCrossing, averageTrueRange, createFloats, MEMORY } from './signals.ts';

const ratio = decimalText({ atLeast: '0.1', atMost: '100' });
const bars = (least: number, most: number) => z.int().min(least).max(most);
const share = decimalText({ above: '0', atMost: '1' });

const Params = z
  .strictObject({
    fast_bars: bars(2, 100).default(12).describe('bars of the fast average; less than `slow_bars`'),
    slow_bars: bars(3, 150).default(26).describe('bars of the slow average'),
    atr_bars: bars(2, 100).default(14).describe('bars of the average true range'),
    entry_bars: bars(1, 20).default(3).describe('bars after a crossing in which an entry is allowed'),
    risk_share: share
      .default('0.01')
      .describe('the possible loss of an entry until its stop, as a share of the equity'),
    max_share: share.default('0.5').describe('the largest cost of an entry, as a share of the equity'),
    stop_atr: ratio
      .default('3')
      .describe('distance of the stop below the highest close, in average true ranges'),
    profit_atr: ratio
      .default('8')
      .describe('distance of the take-profit price above the cost of the position, in average true ranges'),
  })
  .refine(({ fast_bars, slow_bars }) => fast_bars < slow_bars, {
    path: ['fast_bars'],
    error: 'must be below slow_bars',
  });

interface Signal {
  readonly close: Decimal;
  readonly range: Decimal;
  readonly stop: Decimal;
  readonly isUp: boolean;
  /** Up for at most `entry_bars` bars. */
  readonly isYoung: boolean;
}

/**
 * Buys when the fast average crosses above the slow one, sized by the loss allowed at the stop. Sells all when the fast
 * average crosses back or the stop is reached. A take-profit sale covers the position meanwhile. An inherited position is
 * treated the same.
 */
export const trendFollower = strategyKind(Params, (params): TradingStrategy => {
  const stopRanges = money(params.stop_atr);
  const profitRanges = money(params.profit_atr);
  const last = params.entry_bars + 1;
  const floats = createFloats(MEMORY * Math.max(params.slow_bars, params.atr_bars) + last);

  function signalOf({ bars }: StrategyView): Signal | undefined {
    const prices = floats(bars);
    const range = averageTrueRange(prices, params.atr_bars);
    const close = bars.at(-1)?.close;
    if (range === undefined || close === undefined) return undefined;
    const { fast_bars: fastBars, slow_bars: slowBars } = params;
    const leads = averageCrossing(prices, { fastBars, slowBars, last });
    const highest = bars.slice(-params.atr_bars).reduce((top, bar) => greater(top, bar.close), close);
    const stop = highest.minus(range.times(stopRanges));
    const isUp = (leads.at(-1) ?? 0) > 0;
    return { close, range, stop, isUp, isYoung: isUp && leads.some((lead) => lead <= 0) };
  }

  function enter({ equity, freeCash }: StrategyView, { close, range }: Signal): Intent[] {
    const byRisk = equity.times(params.risk_share).div(range.times(stopRanges)).times(close);
    const amount = affordable(smaller(byRisk, equity.times(params.max_share)), freeCash);
    const quantity = quantityFor(amount, close);
    if (!quantity.gt(ZERO)) return [];
    return [{ type: 'order', side: 'buy', kind: 'market', purpose: 'entry', quantity, tag: 'trend' }];
  }

  return {
    warmupBars: Math.max(params.slow_bars, params.atr_bars) + params.entry_bars + 1,
    onBar: (view) => {
      const signal = signalOf(view);
      if (signal === undefined || !signal.range.gt(ZERO)) return [];
      const isStopped = signal.close.lte(signal.stop);
      if (view.position.gt(ZERO))
        return isStopped || !signal.isUp
          ? exitPosition(view)
          : takeProfit(view, signal.range.times(profitRanges));
      const mayEnter = signal.isYoung && !isStopped && view.openOrders.length === 0;
      return mayEnter ? enter(view, signal) : [];
    },
  };
});

/** Cancels all orders and sells the whole position at the market. */
function exitPosition({ openOrders, position }: StrategyView): Intent[] {
  if (openOrders.some(({ side, kind }) => side === 'sell' && kind === 'market')) return [];
  const all = { side: 'sell', kind: 'market', purpose: 'exit', quantity: position, tag: 'stop' } as const;
  return [
    ...openOrders.map(({ id }) => ({ type: 'cancel' as const, orderId: id })),
    { type: 'order', ...all },
  ];
}

/** Covers the position by a take-profit sale. A tenth may stay uncovered, since limits and rounding reduce orders. */
function takeProfit(view: StrategyView, above: Decimal): Intent[] {
  const { position, averagePrice, bars, openOrders } = view;
  const quantity = position.minus(sum(openOrders.filter(isSale).map((order) => order.quantity)));
  const close = bars.at(-1)?.close;
  if (close === undefined || quantity.lt(position.div(10))) return [];
  const limitPrice = greater(close, averagePrice ?? close).plus(above);
  const tag = 'profit';
  return [{ type: 'order', side: 'sell', kind: 'limit', purpose: 'exit', quantity, limitPrice, tag }];
}

const isSale = ({ side }: OpenOrder): boolean => side === 'sell';
