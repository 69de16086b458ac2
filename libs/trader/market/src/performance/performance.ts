import type { Decimal } from 'decimal.js';
import { money, ZERO } from '../terms/money.ts';

/** A bar after its close, with the fills of the bar included. */
interface PerformanceBar {
  /** Closing time, ms since the epoch. */
  readonly at: number;
  /** Cash, reserved or not, and the position at the close, in quote. */
  readonly equity: Decimal;
  /** The position at the close, in quote. */
  readonly positionValue: Decimal;
}

/** The profit of a sale. */
export interface SaleProfit {
  /** Proceeds less the cost of the units sold, without fees. */
  readonly realized: Decimal;
  /** `realized` less the fee of the sale and the entry fees of the units sold (`createNetProfit`). */
  readonly net: Decimal;
}

/** An order that filled. */
interface PerformanceFill {
  readonly fee: Decimal;
  /** Undefined for a buy. */
  readonly sale?: SaleProfit | undefined;
}

/** The measures of a period. Null: not defined, such as a ratio whose divisor is 0. Amounts are in quote. */
export interface PerformanceFigures {
  readonly bars: number;
  /** Closing times of the first and the last bar. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly openingEquity: Decimal;
  readonly equity: Decimal;
  /** `equity / openingEquity − 1` */
  readonly return: number | null;
  /** The part of the highest equity so far, the opening included, that is missing at the last close. */
  readonly drawdown: number;
  /** The largest `drawdown` at any close. */
  readonly maxDrawdown: number;
  /**
   * Mean return of a bar divided by the sample standard deviation of these returns, times the root of the bars per year.
   * A year has 365.25 days; the risk-free rate is 0.
   */
  readonly sharpe: number | null;
  /** As `sharpe`, divided by the downside deviation against 0: the root of the mean over all bars of `min(return, 0)²`. */
  readonly sortino: number | null;
  /** Mean over all bars of `positionValue / equity`. */
  readonly exposure: number | null;
  readonly fills: number;
  readonly sales: number;
  /** Sales with a net profit above 0. */
  readonly wins: number;
  /** `wins / sales` */
  readonly winRate: number | null;
  /** Sum of the net profits of sales above 0, divided by the sum of the net losses of the others. */
  readonly profitFactor: number | null;
  /** Realized profit of all sales, without fees. */
  readonly realized: Decimal;
  /** Fees of all fills. */
  readonly fees: Decimal;
}

interface PerformanceOptions {
  /** Equity before the first bar; by default that of the first bar, whose return then is 0. */
  readonly opening?: Decimal | undefined;
  /** Time between bars, which annualizes ratios; by default the mean time between the bars. */
  readonly intervalMs?: number | undefined;
}

/** The running totals from which the figures of a performance are computed. */
interface PerformanceTotals {
  opening: Decimal | null;
  /** At the last close. */
  equity: Decimal | null;
  bars: number;
  firstAt: number | null;
  lastAt: number | null;
  meanReturn: number;
  /** Sum of the squared distances of the returns from their mean. */
  squaredDistances: number;
  /** Sum of the squares of the returns below 0. */
  squaredLosses: number;
  /** Sum of the share of the equity that is in position. */
  exposures: number;
  /** The highest equity. */
  peak: number;
  maxDrawdown: number;
  fills: number;
  sales: number;
  wins: number;
  /** Sum of the net profits, and of the net losses, of sales. */
  gained: Decimal;
  lost: Decimal;
  realized: Decimal;
  fees: Decimal;
}

const firstTotals = (opening: Decimal | undefined): PerformanceTotals => ({
  opening: opening ?? null,
  equity: null,
  bars: 0,
  firstAt: null,
  lastAt: null,
  meanReturn: 0,
  squaredDistances: 0,
  squaredLosses: 0,
  exposures: 0,
  peak: opening?.toNumber() ?? 0,
  maxDrawdown: 0,
  fills: 0,
  sales: 0,
  wins: 0,
  gained: ZERO,
  lost: ZERO,
  realized: ZERO,
  fees: ZERO,
});

/** Mean and deviations of the returns; a deviation is null where there are too few returns. */
function returnsOf({ bars, meanReturn, squaredDistances, squaredLosses }: PerformanceTotals): {
  readonly mean: number;
  readonly deviation: number | null;
  readonly downside: number | null;
} {
  return {
    mean: meanReturn,
    deviation: bars < 2 ? null : Math.sqrt(squaredDistances / (bars - 1)),
    downside: bars < 1 ? null : Math.sqrt(squaredLosses / bars),
  };
}

/** 365.25 days. */
const YEAR_MS = 365.25 * 86_400_000;

export type Performance = ReturnType<typeof createPerformance>;

/** Measures a period bar by bar, in constant memory. */
export function createPerformance({ opening, intervalMs }: PerformanceOptions = {}) {
  const totals = firstTotals(opening);
  let before = totals.opening?.toNumber();
  return {
    /** Must be called once per bar, in order, after `fill` for each fill of the bar. */
    bar: (bar: PerformanceBar): void => {
      before = addBar(totals, bar, before);
    },
    fill: (fill: PerformanceFill): void => addFill(totals, fill),
    figures: (): PerformanceFigures => figuresOf(totals, intervalMs),
  };
}

/** `before` is the equity before the bar; undefined at the first one without an opening. Returns the equity of the bar. */
function addBar(
  totals: PerformanceTotals,
  { at, equity, positionValue }: PerformanceBar,
  before: number | undefined,
): number {
  const now = equity.toNumber();
  totals.opening ??= equity;
  const known = before ?? now;
  // An account without equity cannot gain or lose anything.
  const change = known > 0 ? now / known - 1 : 0;
  totals.bars += 1;
  totals.firstAt ??= at;
  totals.lastAt = at;
  totals.equity = equity;
  // Welford's algorithm: sums of squares would lose the digits that matter.
  const distance = change - totals.meanReturn;
  totals.meanReturn += distance / totals.bars;
  totals.squaredDistances += distance * (change - totals.meanReturn);
  totals.squaredLosses += Math.min(change, 0) ** 2;
  totals.exposures += now > 0 ? positionValue.toNumber() / now : 0;
  totals.peak = Math.max(totals.peak, known, now);
  totals.maxDrawdown = Math.max(totals.maxDrawdown, drawdownOf(totals, now));
  return now;
}

function addFill(totals: PerformanceTotals, { fee, sale }: PerformanceFill): void {
  totals.fills += 1;
  totals.fees = totals.fees.plus(fee);
  if (sale === undefined) return;
  totals.sales += 1;
  totals.realized = totals.realized.plus(sale.realized);
  if (sale.net.gt(ZERO)) {
    totals.wins += 1;
    totals.gained = totals.gained.plus(sale.net);
  } else totals.lost = totals.lost.minus(sale.net);
}

const drawdownOf = ({ peak }: PerformanceTotals, equity: number): number =>
  peak > 0 ? (peak - equity) / peak : 0;

function figuresOf(totals: PerformanceTotals, intervalMs: number | undefined): PerformanceFigures {
  const { bars, firstAt, lastAt, fills, sales, wins, gained, lost, realized, fees } = totals;
  const openingEquity = totals.opening ?? ZERO;
  const equity = totals.equity ?? openingEquity;
  const spacing = intervalMs ?? meanSpacing(totals);
  const { mean, deviation, downside } = returnsOf(totals);
  const annual = (divisor: number | null): number | null =>
    divisor === null || spacing === null ? null : ratio(mean * Math.sqrt(YEAR_MS / spacing), divisor);
  return {
    bars,
    firstAt,
    lastAt,
    openingEquity,
    equity,
    return: openingEquity.isZero() ? null : money(equity.div(openingEquity)).minus(1).toNumber(),
    drawdown: drawdownOf(totals, equity.toNumber()),
    maxDrawdown: totals.maxDrawdown,
    sharpe: annual(deviation),
    sortino: annual(downside),
    exposure: ratio(totals.exposures, bars),
    fills,
    sales,
    wins,
    winRate: ratio(wins, sales),
    profitFactor: lost.isZero() ? null : gained.div(lost).toNumber(),
    realized,
    fees,
  };
}

const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

const meanSpacing = ({ bars, firstAt, lastAt }: PerformanceTotals): number | null =>
  firstAt === null || lastAt === null || bars < 2 ? null : (lastAt - firstAt) / (bars - 1);
