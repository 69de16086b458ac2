import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { decimalText } from '../market/decimal-text.ts';
import { greater, money, smaller, sum, ZERO } from '../market/money.ts';
import type { Intent, OpenOrder, StrategyView, TradingStrategy } from '../market/strategy.ts';
import { affordable, quantityFor } from './amounts.ts';
import { strategyKind } from './kind.ts';
import { crossing, trueRange } from './signals.ts';

const ratio = decimalText({ atLeast: '0.1', atMost: '100' });
const share = decimalText({ above: '0', atMost: '1' });

const Params = z
  .strictObject({
    fast_bars: z.int().min(2).max(100).default(12),
    slow_bars: z.int().min(3).max(150).default(26),
    atr_bars: z.int().min(2).max(100).default(14),
    entry_bars: z
      .int()
      .min(1)
      .max(20)
      .default(3)
      .describe('For how many bars after the averages have crossed a trend may be entered'),
    risk_share: share
      .default('0.01')
      .describe('What an entry may lose until its stop, as a share of the equity'),
    max_share: share.default('0.5').describe('What an entry may cost, as a share of the equity'),
    stop_atr: ratio
      .default('3')
      .describe('How far below the highest close the stop is, in average true ranges'),
    profit_atr: ratio
      .default('8')
      .describe('How far above its cost a position is sold, in average true ranges'),
  })
  .refine(({ fast_bars, slow_bars }) => fast_bars < slow_bars, {
    path: ['fast_bars'],
    error: 'must be below slow_bars',
  });

/** What a bar says about the trend. */
interface Signal {
  readonly close: Decimal;
  readonly range: Decimal;
  readonly stop: Decimal;
  readonly isUp: boolean;
  /** It has been up for no longer than an entry may take. */
  readonly isYoung: boolean;
}

/**
 * Buys when the fast average has crossed above the slow one, as much as may be lost until the stop; sells all when it
 * has crossed back or the stop is reached; what is held rests in the market as a sale at a profit. What another strategy
 * left behind is treated alike.
 */
export const trendFollower = strategyKind(Params, (params): TradingStrategy => {
  const stopRanges = money(params.stop_atr);
  const profitRanges = money(params.profit_atr);

  function signalOf({ bars }: StrategyView): Signal | undefined {
    const range = trueRange(bars, params.atr_bars);
    const close = bars.at(-1)?.close;
    if (range === undefined || close === undefined) return undefined;
    const { fast_bars: fastBars, slow_bars: slowBars } = params;
    const leads = crossing(bars, { fastBars, slowBars, last: params.entry_bars + 1 });
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
        return isStopped || !signal.isUp ? leave(view) : protect(view, signal.range.times(profitRanges));
      const mayEnter = signal.isYoung && !isStopped && view.openOrders.length === 0;
      return mayEnter ? enter(view, signal) : [];
    },
  };
});

/** Sells all at the market, whatever rests there. */
function leave({ openOrders, position }: StrategyView): Intent[] {
  if (openOrders.some(({ side, kind }) => side === 'sell' && kind === 'market')) return [];
  const all = { side: 'sell', kind: 'market', purpose: 'exit', quantity: position, tag: 'stop' } as const;
  return [
    ...openOrders.map(({ id }) => ({ type: 'cancel' as const, orderId: id })),
    { type: 'order', ...all },
  ];
}

/** Sees to it that what is held rests as a sale; a tenth of it may be left over, of a limit or a rounding. */
function protect(view: StrategyView, above: Decimal): Intent[] {
  const { position, averagePrice, bars, openOrders } = view;
  const quantity = position.minus(sum(openOrders.filter(isSale).map((order) => order.quantity)));
  const close = bars.at(-1)?.close;
  if (close === undefined || quantity.lt(position.div(10))) return [];
  const limitPrice = greater(close, averagePrice ?? close).plus(above);
  const tag = 'profit';
  return [{ type: 'order', side: 'sell', kind: 'limit', purpose: 'exit', quantity, limitPrice, tag }];
}

const isSale = ({ side }: OpenOrder): boolean => side === 'sell';
