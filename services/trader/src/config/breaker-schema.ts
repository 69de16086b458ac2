import { decimalText } from '@hermes-fleet/market';
import { z } from 'zod';

const action = z
  .enum(['pause', 'reduce_only', 'halted'])
  .default('pause')
  .describe('What the breaker decides: a pause, or this risk mode');
const amount = decimalText({ above: '0' });

const BREAKERS = {
  daily_loss: z
    .strictObject({ limit: amount, action })
    .describe('Largest loss since midnight UTC, in the quote asset'),
  drawdown: z
    .strictObject({ limit: decimalText({ above: '0', atMost: '1' }), action })
    .describe('Largest part of the highest equity that may be missing: 0.1 is 10 %'),
  orders_per_minute: z
    .strictObject({ limit: z.int().min(1).max(100_000), action })
    .describe('Most orders placed in a minute'),
};

/** The circuit breakers of an account (docs/trader.md#circuit-breakers). */
export const AccountBreakers = z.strictObject(BREAKERS).partial();

/** The circuit breakers of a concern. */
export const ConcernBreakers = z
  .strictObject({
    ...BREAKERS,
    strategy_loss: z
      .strictObject({ limit: amount, action })
      .describe('Largest loss of the active strategy since it became active, in the quote asset'),
    stale_price: z
      .strictObject({ after_s: z.number().positive().max(86_400), action })
      .describe('Longest time without a bar'),
  })
  .partial();

export type AccountLimits = z.output<typeof AccountBreakers>;
export type ConcernLimits = z.output<typeof ConcernBreakers>;
