import { type PerformanceFigures, writeFigures } from '@hermes-fleet/market';
import type { PerformanceOf } from '../control/reads.ts';
import type { BookKeeper } from './book-keeper.ts';

/** The performance for `get_strategy`: some of the figures of `GET /books/performance`, as they are there. */
export function createSummary(keeper: Pick<BookKeeper, 'problem' | 'analysis'>): PerformanceOf {
  return (concernId, strategyId) => {
    if (keeper.problem() !== undefined) return undefined;
    const analysis = keeper.analysis(concernId);
    const own = analysis.strategies().find(({ id }) => id === strategyId);
    const { return: change, drawdown, max_drawdown: maxDrawdown } = writeFigures(analysis.total());
    return {
      strategy: own === undefined ? null : strategyOf(own.figures),
      account: { return: change, drawdown, maxDrawdown },
    };
  };
}

function strategyOf(figures: PerformanceFigures) {
  const { return: change, max_drawdown, realized_profit, fees, fills, win_rate } = writeFigures(figures);
  const [maxDrawdown, realizedProfit, winRate] = [max_drawdown, realized_profit, win_rate];
  return { return: change, maxDrawdown, realizedProfit, fees, fills, winRate };
}
