import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { decimalText } from './decimal-text.ts';
import { money } from './money.ts';

const decimal = decimalText({ atLeast: '0' });
const positive = decimalText({ above: '0' });
const bps = decimalText({ atLeast: '0', atMost: '1000' });

/**
 * The market settings of a concern in trader.yaml. Amounts are decimal strings: `quote` in the asset that prices are in,
 * quantities in the base asset.
 */
export const MarketSchema = z.strictObject({
  balances: z.strictObject({
    quote: decimal.describe(
      'the initial balance, in the quote asset; a later change needs a [reset](trader.md#reset-an-account)',
    ),
    base: decimal.default('0').describe('its initial position, in the base asset'),
  }),
  fees_bps: bps.default('10').describe('the fee of a fill, of its amount'),
  slippage_bps: bps.default('5').describe('slippage of a market order against the open'),
  limits: z
    .strictObject({
      max_order: positive.describe(
        'the largest buy, in the base asset; a larger one is cut to it, a sale never is',
      ),
      max_position: decimal.describe('the largest position that buys may lead to, open orders included'),
      max_open_orders: z.int().min(1).max(100).default(20).describe('open orders of each side'),
      min_order: positive.describe('the smallest order'),
    })
    .refine(({ min_order: min, max_order: max }) => money(min).lte(money(max)), {
      path: ['min_order'],
      error: 'must not be above max_order',
      when: ({ issues }) => issues.length === 0,
    }),
  risk: z
    .strictObject({
      halted: z
        .enum(['cancel_all', 'keep_protective', 'flatten'])
        .default('cancel_all')
        .describe('what risk mode [`halted`](trader.md#state) does with open exits and the position'),
    })
    .prefault({}),
  steps: z
    .strictObject({
      price: positive.default('0.00001').describe('prices are multiples of it'),
      quantity: positive.default('0.000001').describe('quantities are multiples of it'),
    })
    .prefault({}),
});

export type MarketWire = z.output<typeof MarketSchema>;

/** Parsed market settings. */
export interface Market {
  readonly balances: { readonly quote: Decimal; readonly base: Decimal };
  readonly feesBps: Decimal;
  readonly slippageBps: Decimal;
  readonly limits: {
    readonly maxOrder: Decimal;
    readonly maxPosition: Decimal;
    readonly maxOpenOrders: number;
    readonly minOrder: Decimal;
  };
  /** How open exits and the position are treated in risk mode `halted`. */
  readonly halted: MarketWire['risk']['halted'];
  readonly steps: { readonly price: Decimal; readonly quantity: Decimal };
}

/** Reads the market settings of a concern in trader.yaml and ignores the concern's other keys. */
export function readMarket({ balances, fees_bps, slippage_bps, limits, risk, steps }: MarketWire): Market {
  return {
    balances: { quote: money(balances.quote), base: money(balances.base) },
    feesBps: money(fees_bps),
    slippageBps: money(slippage_bps),
    limits: {
      maxOrder: money(limits.max_order),
      maxPosition: money(limits.max_position),
      maxOpenOrders: limits.max_open_orders,
      minOrder: money(limits.min_order),
    },
    halted: risk.halted,
    steps: { price: money(steps.price), quantity: money(steps.quantity) },
  };
}
