import { FleetError, fieldErrors, type JsonObject } from '@hermes-fleet/protocol';
import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { storedDecimal } from '../terms/decimal-text.ts';
import { text, ZERO } from '../terms/money.ts';

const count = z.int().min(0);

/** The stored form of the totals. A change of its shape needs a new version and a reader of this one. */
const Stored = z.strictObject({
  version: z.literal(1),
  opening: storedDecimal.nullable(),
  equity: storedDecimal.nullable(),
  bars: count,
  firstAt: count.nullable(),
  lastAt: count.nullable(),
  meanReturn: z.number(),
  squaredDistances: z.number(),
  squaredLosses: z.number(),
  exposures: z.number(),
  peak: z.number(),
  maxDrawdown: z.number(),
  fills: count,
  sales: count,
  wins: count,
  gained: storedDecimal,
  lost: storedDecimal,
  realized: storedDecimal,
  fees: storedDecimal,
});

/** The running totals from which the figures of a performance are computed. */
export interface PerformanceTotals {
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

export const firstTotals = (opening: Decimal | undefined): PerformanceTotals => ({
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
export function returnsOf({ bars, meanReturn, squaredDistances, squaredLosses }: PerformanceTotals): {
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

/** Restores exactly what `writePerformance` wrote. STORE_UNAVAILABLE, not retryable, for anything else. */
export function readPerformance(snapshot: JsonObject): PerformanceTotals {
  const parsed = Stored.safeParse(snapshot);
  if (parsed.success) {
    const { version: _, ...totals } = parsed.data;
    return totals;
  }
  const message = 'a stored performance cannot be read; restore control.db from a backup';
  throw new FleetError('STORE_UNAVAILABLE', message, {
    fields: fieldErrors(parsed.error),
    retryable: false,
  });
}

export const writePerformance = (totals: PerformanceTotals): JsonObject => ({
  version: 1,
  ...totals,
  opening: totals.opening && text(totals.opening),
  equity: totals.equity && text(totals.equity),
  gained: text(totals.gained),
  lost: text(totals.lost),
  realized: text(totals.realized),
  fees: text(totals.fees),
});
