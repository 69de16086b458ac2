import { DegradedSchema, FeedSchema, MarketSchema } from '@hermes-fleet/market';
import { RiskMode } from '@hermes-fleet/protocol/control';
import { z } from 'zod';
import { AccountBreakers, ConcernBreakers } from './breaker-schema.ts';
import { crossCheck } from './cross-check.ts';

/** Accounts and markets are parts of concern ids and of event subjects. */
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
  future_slack_s: z
    .number()
    .nonnegative()
    .max(86_400)
    .default(60)
    .describe('How far in the future a request may be'),
  min_confidence: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('Decisions that raise risk are refused below it'),
  strict_degraded: z.boolean().default(false).describe('Refuse every decision while execution is degraded'),
});

const Rate = z.strictObject({
  per_second: z
    .number()
    .positive()
    .max(100_000)
    .default(50)
    .describe('Decisions of one caller about one concern'),
  burst: whole(1).default(200).describe('Decisions that may arrive at once'),
  kept_for_pause: whole(0).default(20).describe('Part of the burst that only a pause may use'),
});

const Audit = z.strictObject({
  verify_every_s: z
    .number()
    .min(1)
    .max(86_400)
    .default(300)
    .describe('The time between two verifications of what was added to the audit'),
});

const Caller = z.strictObject({
  accounts: z
    .array(z.union([symbol, z.literal('*')], { error: 'must be the name of an account, or "*" for all' }))
    .min(1)
    .max(1_000)
    .describe('Accounts that the caller may read and decide about; "*" for all'),
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
  breakers: ConcernBreakers.prefault({}).describe('Circuit breakers; none by default'),
});

const Strategy = z.strictObject({
  id: strategyId.describe('The id that decisions use'),
  name: text.describe('A display name'),
  kind: text.describe('The kind of the strategy'),
  account_id: symbol.describe('The account of its concern'),
  market_symbol: symbol.describe('The market of its concern'),
  params: z.record(z.string(), z.json()).default({}).describe("The kind's parameters"),
  status: z.enum(['enabled', 'disabled']).default('enabled').describe('A disabled strategy may not run'),
});

const Trader = z.strictObject({
  policy: Policy.prefault({}),
  rate: Rate.prefault({}),
  audit: Audit.prefault({}),
  callers: z.record(text, Caller).default({}),
  concerns: z.array(Concern).min(1).max(100),
  accounts: z
    .record(
      text,
      z.strictObject({ breakers: AccountBreakers.prefault({}).describe('Over all its concerns') }),
    )
    .default({})
    .describe('Settings of whole accounts'),
  strategies: z.array(Strategy).max(1_000).default([]),
});

/** The strict schema of trader.yaml (docs/configuration.md#traderyaml), including the checks that span several keys. */
export const TraderConfigSchema = z
  .strictObject({ trader: Trader })
  .superRefine((value, ctx) => crossCheck(value, ctx), { when: () => true });

export type TraderConfig = z.output<typeof TraderConfigSchema>;
