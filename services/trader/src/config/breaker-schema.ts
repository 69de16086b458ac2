import { decimalText } from '@hermes-fleet/market';
import { z } from 'zod';

const action = z.enum(['pause', 'reduce_only', 'halted']).default('pause').describe('what it decides');
const amount = decimalText({ above: '0' });

const BREAKERS = {
  daily_loss: z.strictObject({
    limit: amount.describe('the largest loss since midnight UTC, in the quote asset'),
    action,
  }),
  drawdown: z.strictObject({
    limit: decimalText({ above: '0', atMost: '1' }).describe(
      'the largest part of the highest equity that may be missing',
    ),
    action,
  }),
  orders_per_minute: z.strictObject({
    limit: z.int().min(1).max(100_000).describe('the most orders placed in a minute'),
    action,
  }),
};

/** The circuit breakers of an account (docs/trader.md#circuit-breakers). */
export const AccountBreakers = z.strictObject(BREAKERS).partial();

/** The circuit breakers of a concern. */
export const ConcernBreakers = z
  .strictObject({
    ...BREAKERS,
    strategy_loss: z.strictObject({
      limit: amount.describe('the largest loss of the active strategy since it became active'),
      action,
    }),
    stale_price: z.strictObject({
      after_s: z.number().positive().max(86_400).describe('the longest time without a bar'),
      action,
    }),
  })
  .partial();

export type AccountLimits = z.output<typeof AccountBreakers>;
export type ConcernLimits = z.output<typeof ConcernBreakers>;
