import { z } from 'zod';
import { decimalText } from '../terms/decimal-text.ts';
import { money, smaller, ZERO } from '../terms/money.ts';
import type { Intent, TradingStrategy } from '../terms/strategy.ts';
import { affordable, exposure, quantityFor } from './amounts.ts';
import { strategyKind } from './kind.ts';

const Params = z.strictObject({
  target_share: decimalText({ atLeast: '0', atMost: '1' })
    .default('0.5')
    .describe('the target value of the position, as a share of the equity'),
  tolerance: decimalText({ above: '0', atMost: '0.5' })
    .default('0.05')
    .describe('how far the share may deviate before the strategy acts'),
});

/** Rebalances the position by market orders to a share of the equity when it leaves the tolerance band. */
export const exposureProtector = strategyKind(Params, (params): TradingStrategy => {
  const target = money(params.target_share);
  const tolerance = money(params.tolerance);
  return {
    warmupBars: 1,
    onBar: (view): readonly Intent[] => {
      const close = view.bars.at(-1)?.close;
      if (close === undefined || view.openOrders.length > 0 || !view.equity.gt(ZERO)) return [];
      const excess = exposure(view).minus(view.equity.times(target));
      if (excess.abs().lte(view.equity.times(tolerance))) return [];
      const quantity = excess.gt(ZERO)
        ? smaller(view.position, quantityFor(excess, close))
        : quantityFor(affordable(excess.neg(), view.freeCash), close);
      if (!quantity.gt(ZERO)) return [];
      return [
        excess.gt(ZERO)
          ? { type: 'order', side: 'sell', kind: 'market', purpose: 'exit', quantity, tag: 'reduce' }
          : { type: 'order', side: 'buy', kind: 'market', purpose: 'entry', quantity, tag: 'restore' },
      ];
    },
  };
});
