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
  balances: z
    .strictObject({ quote: decimal, base: decimal.default('0') })
    .describe('Opening balances of the paper account; a later change needs a reset of the account'),
  fees_bps: bps.default('10').describe('Fee of each fill, in basis points of its amount'),
  slippage_bps: bps.default('5').describe('Slippage of a market order against the open, in basis points'),
  limits: z
    .strictObject({
      max_order: positive.describe(
        'Largest quantity of a buy; a larger one is reduced to it, a sale never is',
      ),
      max_position: decimal.describe('Largest position after all open buys are filled'),
      max_open_orders: z.int().min(1).max(100).default(20).describe('Most open orders of each side'),
      min_order: positive.describe('Smallest quantity of an order'),
    })
    .refine(({ min_order: min, max_order: max }) => money(min).lte(money(max)), {
      path: ['min_order'],
      error: 'must not be above max_order',
      when: ({ issues }) => issues.length === 0,
    })
    .describe('Limits of the risk gate for new orders, in the base asset'),
  risk: z
    .strictObject({
      halted: z
        .enum(['cancel_all', 'keep_protective', 'flatten'])
        .default('cancel_all')
        .describe(
          'What risk mode halted does with open exits and with the position; a strategy may place no order',
        ),
    })
    .prefault({}),
  steps: z
    .strictObject({ price: positive.default('0.00001'), quantity: positive.default('0.000001') })
    .default({ price: '0.00001', quantity: '0.000001' })
    .describe('Prices and quantities of orders and fills are multiples of these'),
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
