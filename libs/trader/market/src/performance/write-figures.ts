import type { Answer, Figures } from '@hermes-fleet/protocol/api';
import { text } from '../terms/money.ts';
import type { PerformanceFigures } from './performance.ts';

const DIGITS = 8;

/** The figures in their wire form: amounts as decimal text, ratios as numbers of eight significant digits. */
export function writeFigures(figures: PerformanceFigures): Answer<typeof Figures> {
  const { firstAt, lastAt, bars, fills, sales, wins } = figures;
  return {
    bars,
    first_at: timeOf(firstAt),
    last_at: timeOf(lastAt),
    opening_equity: text(figures.openingEquity),
    equity: text(figures.equity),
    return: rounded(figures.return),
    drawdown: rounded(figures.drawdown),
    max_drawdown: rounded(figures.maxDrawdown),
    sharpe: rounded(figures.sharpe),
    sortino: rounded(figures.sortino),
    exposure: rounded(figures.exposure),
    fills,
    sales,
    wins,
    win_rate: rounded(figures.winRate),
    profit_factor: rounded(figures.profitFactor),
    realized_profit: text(figures.realized),
    fees: text(figures.fees),
  };
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const rounded = <R extends number | null>(ratio: R): R =>
  (ratio === null ? null : Number(ratio.toPrecision(DIGITS))) as R;
