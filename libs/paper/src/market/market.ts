import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { decimalText } from './decimal-text.ts';
import { money } from './money.ts';

const decimal = decimalText({ atLeast: '0' });
const positive = decimalText({ above: '0' });
const bps = decimalText({ atLeast: '0', atMost: '1000' });

/**
 * What the engine of one concern needs to know, as trader.yaml says it. Amounts are decimal strings: `quote` in the
 * asset that prices are in, quantities in the base asset.
 */
export const MarketSchema = z.strictObject({
  balances: z
    .strictObject({ quote: decimal, base: decimal.default('0') })
    .describe('What the paper account begins with; later changes of it change nothing'),
  fees_bps: bps.default('10').describe('Fee of every fill, in basis points of its amount'),
  slippage_bps: bps
    .default('5')
    .describe('How much worse than the open a market order fills, in basis points'),
  limits: z
    .strictObject({
      max_order: positive.describe('The largest quantity of one order; a larger one is cut to it'),
      max_position: decimal.describe('The position that buys may lead to, open ones counted'),
      max_open_orders: z.int().min(1).max(100).default(20).describe('Open orders of each side'),
      min_order: positive.describe('The smallest quantity of one order'),
    })
    .refine(({ min_order: min, max_order: max }) => money(min).lte(money(max)), {
      path: ['min_order'],
      error: 'must not be above max_order',
      when: ({ issues }) => issues.length === 0,
    })
    .describe('What the risk gate lets through, in the base asset; for new orders'),
  steps: z
    .strictObject({ price: positive.default('0.00001'), quantity: positive.default('0.000001') })
    .default({ price: '0.00001', quantity: '0.000001' })
    .describe('Prices and quantities of orders and fills are multiples of these'),
});

export type MarketWire = z.output<typeof MarketSchema>;

/** A market, read: what `createEngine` takes. */
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
  readonly steps: { readonly price: Decimal; readonly quantity: Decimal };
}

/** The market of a concern in trader.yaml; other keys of the concern are none of its business. */
export function readMarket({ balances, fees_bps, slippage_bps, limits, steps }: MarketWire): Market {
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
    steps: { price: money(steps.price), quantity: money(steps.quantity) },
  };
}
