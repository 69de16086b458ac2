import { money } from '@hermes-fleet/market';
import type { SeenBar } from '../books/analysis.ts';

type Amount = SeenBar['equity'];

const ZERO = money('0');
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What circuit breakers compare with their limits. Amounts are in the quote asset. */
export interface Measures {
  /** Since midnight UTC; negative for a gain. */
  readonly dailyLoss: Amount;
  /** The part of the highest equity that is missing. */
  readonly drawdown: Amount;
  /** Of the active strategy, since it became active; negative for a gain. */
  readonly strategyLoss: Amount;
  /** Orders placed in the bars of the last minute. */
  readonly ordersPerMinute: number;
}

/** Measures one concern, or all concerns of an account, from their bars in order. */
export type Tracker = ReturnType<typeof createTracker>;

/**
 * `of`: the bars of a concern count at their own times. Those of an account count when they were recorded, since its
 * concerns can follow feeds of different times.
 */
export function createTracker(of: 'concern' | 'account') {
  const last = new Map<string, SeenBar>();
  let now = Number.NEGATIVE_INFINITY;
  let equity = ZERO;
  let peak = ZERO;
  let day = Number.NaN;
  let dayChange = ZERO;
  let strategyChange = ZERO;
  let placed: { readonly at: number; readonly count: number }[] = [];

  /** Without a change: an account joins, or begins with other balances. */
  function begin(before: SeenBar | undefined, bar: SeenBar): void {
    const opening = bar.equity.minus(bar.change);
    equity = equity.minus(before?.equity ?? ZERO).plus(opening);
    peak = before === undefined ? peak.plus(opening) : equity;
    // The losses of an account that was reset are over; those of several concerns are not told apart.
    if (before !== undefined && of === 'concern') [dayChange, strategyChange] = [ZERO, ZERO];
  }

  return {
    /**
     * Adds a bar. `isTakenOver`: a decision took over from that of a breaker, so losses count from here on; else the breaker
     * would trip again at once.
     */
    add: (concernId: string, bar: SeenBar, isTakenOver: boolean): void => {
      const before = last.get(concernId);
      last.set(concernId, bar);
      if (before === undefined || bar.isFirst) begin(before, bar);
      if (isTakenOver) {
        [dayChange, strategyChange, peak, placed] = [ZERO, ZERO, equity, []];
      }
      // The times of bars go back when another feed follows.
      if (of === 'concern' && bar.at < now) placed = [];
      now = of === 'concern' ? bar.at : Math.max(now, bar.recordedAt);
      const today = Math.floor(now / DAY_MS);
      if (today !== day) [day, dayChange] = [today, ZERO];
      if (bar.strategyId !== before?.strategyId) strategyChange = ZERO;
      equity = equity.plus(bar.change);
      dayChange = dayChange.plus(bar.change);
      strategyChange = strategyChange.plus(bar.change);
      if (equity.gt(peak)) peak = equity;
      placed = [...placed, { at: now, count: bar.placed }].filter(({ at }) => at > now - MINUTE_MS);
    },
    measures: (): Measures => ({
      dailyLoss: dayChange.negated(),
      drawdown: peak.gt(ZERO) ? peak.minus(equity).div(peak) : ZERO,
      strategyLoss: strategyChange.negated(),
      ordersPerMinute: placed.reduce((sum, { count }) => sum + count, 0),
    }),
  };
}
