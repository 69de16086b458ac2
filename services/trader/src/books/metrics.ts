import type { PerformanceFigures } from '@hermes-fleet/market';
import { Gauge, type Registry } from 'prom-client';
import type { BookKeeper } from './book-keeper.ts';

type Figure = (figures: PerformanceFigures) => number | null;

const OF_CONCERNS: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['return', 'Return since the account was opened; 0.1 is 10 %.', (of) => of.return],
  ['drawdown', 'Part of the highest equity that is missing now; 0.1 is 10 %.', (of) => of.drawdown],
  ['max_drawdown', 'Largest drawdown at any close.', (of) => of.maxDrawdown],
  ['sharpe', 'Sharpe ratio, annualized.', (of) => of.sharpe],
  ['sortino', 'Sortino ratio, annualized.', (of) => of.sortino],
  ['win_rate', 'Part of the sales with a net profit.', (of) => of.winRate],
  ['profit_factor', 'Net profits of sales divided by net losses.', (of) => of.profitFactor],
  ['exposure', 'Mean part of the equity in position.', (of) => of.exposure],
  ['realized_profit', 'Realized profit without fees, in the quote asset.', (of) => of.realized.toNumber()],
  ['fees', 'Fees of all fills, in the quote asset.', (of) => of.fees.toNumber()],
];
const OF_STRATEGIES: typeof OF_CONCERNS = [
  [
    'strategy_profit',
    'Change of the equity while the strategy was active.',
    (of) => of.equity.minus(of.openingEquity).toNumber(),
  ],
  ['strategy_return', 'Return while the strategy was active; 0.1 is 10 %.', (of) => of.return],
  ['strategy_max_drawdown', 'Largest drawdown while the strategy was active.', (of) => of.maxDrawdown],
];

/**
 * The performance of each concern and strategy (docs/metrics.md), read at each scrape. Figures that are not defined have no
 * sample. `nameOf` is the label of a strategy.
 */
export function createBooksMetrics(options: {
  readonly registry: Registry;
  readonly keeper: Pick<BookKeeper, 'analysis' | 'problem'>;
  readonly concerns: readonly string[];
  readonly nameOf: (strategyId: string | null) => string;
}): void {
  const { registry, keeper, concerns, nameOf } = options;
  const registers = [registry];
  for (const [name, help, figure] of OF_CONCERNS)
    new Gauge({
      name: `fleet_trader_${name}`,
      help,
      registers,
      labelNames: ['concern'] as const,
      collect() {
        this.reset();
        if (keeper.problem() !== undefined) return;
        for (const concern of concerns) {
          const analysis = keeper.analysis(concern);
          const value = analysis.since() === undefined ? null : figure(analysis.total());
          if (value !== null && Number.isFinite(value)) this.set({ concern }, value);
        }
      },
    });
  for (const [name, help, figure] of OF_STRATEGIES)
    new Gauge({
      name: `fleet_trader_${name}`,
      help,
      registers,
      labelNames: ['concern', 'strategy'] as const,
      collect() {
        this.reset();
        if (keeper.problem() !== undefined) return;
        for (const concern of concerns)
          for (const { id, figures } of keeper.analysis(concern).strategies()) {
            const value = figure(figures);
            if (value !== null && Number.isFinite(value)) this.set({ concern, strategy: nameOf(id) }, value);
          }
      },
    });
}
