import { z } from 'zod';

/** A decimal number, which text keeps exact. */
export const Amount = z.string().regex(/^-?\d+(\.\d+)?$/, 'must be a decimal number');
const ratio = z.number().nullable();
const count = z.int().nonnegative();

/** Measures of an account, a strategy or a decision (docs/trader.md#performance). One that is not defined is null. */
export const BooksFigures = z.object({
  bars: count,
  opening_equity: Amount,
  equity: Amount,
  return: ratio,
  drawdown: z.number(),
  max_drawdown: z.number(),
  sharpe: ratio,
  sortino: ratio,
  exposure: ratio,
  fills: count,
  sales: count,
  win_rate: ratio,
  profit_factor: ratio,
  realized_profit: Amount,
  fees: Amount,
});

/** Those measures with the time of their bars. */
export const Figures = BooksFigures.extend({
  first_at: z.string().nullable(),
  last_at: z.string().nullable(),
  wins: count,
});
