import { DegradedSchema, FeedSchema, MarketSchema } from '@hermes-fleet/paper';
import { RiskMode } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { crossCheck } from './cross-check.ts';

/** Accounts and markets are parts of a concern's id, and of the subjects of its events. */
const symbol = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be a name of letters, digits, "_" or "-": it is part of subjects');
const strategyId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'must be an id of letters, digits, ".", "_", ":" or "-"');
const text = z.string().min(1).max(200);
const whole = (least: number) =>
  z.number().min(least).max(100_000).refine(Number.isSafeInteger, 'must be a whole number');
const seconds = z.number().positive().max(86_400);

const Policy = z.strictObject({
  max_age_s: seconds.default(300).describe('A request older than this is stale'),
  future_slack_s: z.number().nonnegative().max(86_400).default(60).describe('How far ahead a request may be'),
  min_confidence: z.number().min(0).max(1).default(0).describe('Below it, what raises risk is refused'),
  strict_degraded: z
    .boolean()
    .default(false)
    .describe('Whether degraded execution refuses also what makes things safer'),
});

const Rate = z.strictObject({
  per_second: z.number().positive().max(100_000).default(50).describe('Of one caller at one concern'),
  burst: whole(1).default(200).describe('How many may come at once'),
  kept_for_pause: whole(0).default(20).describe('Of the burst, for pause alone'),
});

const Caller = z.strictObject({
  accounts: z
    .array(z.union([symbol, z.literal('*')], { error: 'must be the name of an account, or "*" for all' }))
    .min(1)
    .max(1_000)
    .describe('Those that it may see and decide about; "*" for all'),
});

const Concern = z.strictObject({
  account_id: symbol.describe('The account'),
  market_symbol: symbol.describe('The market'),
  active_strategy_id: strategyId.nullable().default(null).describe('At the first start'),
  run_state: z.enum(['running', 'paused']).default('running').describe('At the first start'),
  risk_mode: RiskMode.default('normal').describe('At the first start'),
  ...MarketSchema.shape,
  feed: FeedSchema,
  degraded: DegradedSchema,
});

const Strategy = z.strictObject({
  id: strategyId.describe('What decisions name it by'),
  name: text.describe('For people'),
  kind: text.describe('What it does'),
  account_id: symbol.describe('The account of its concern'),
  market_symbol: symbol.describe('The market of its concern'),
  params: z.record(z.string(), z.json()).default({}).describe("The kind's parameters"),
  status: z.enum(['enabled', 'disabled']).default('enabled').describe('Whether it may run'),
});

const Trader = z.strictObject({
  policy: Policy.prefault({}),
  rate: Rate.prefault({}),
  callers: z.record(text, Caller).default({}),
  concerns: z.array(Concern).min(1).max(100),
  strategies: z.array(Strategy).max(1_000).default([]),
});

/**
 * trader.yaml (design 4, State), strict, with the file's own snake_case names. What no single key shows (a strategy that
 * is not there, parameters that its kind does not take) is reported in the same pass.
 */
export const TraderConfigSchema = z
  .strictObject({ trader: Trader })
  .superRefine((value, ctx) => crossCheck(value, ctx), { when: () => true });

export type TraderConfig = z.output<typeof TraderConfigSchema>;
