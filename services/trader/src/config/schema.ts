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
  z
    .number()
    .min(least)
    .max(100_000)
    .refine(Number.isSafeInteger, 'must be a whole number')
    .meta({ type: 'integer' });
const seconds = z.number().positive().max(86_400);

const Policy = z.strictObject({
  max_age_s: seconds.default(300).describe('a decision with an older `requested_at` is stale'),
  future_slack_s: z
    .number()
    .nonnegative()
    .max(86_400)
    .default(60)
    .describe('how far ahead `requested_at` may be'),
  min_confidence: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('below it, decisions that raise risk are rejected'),
  strict_degraded: z
    .boolean()
    .default(false)
    .describe('`true`: degraded execution also rejects decisions that lower risk'),
});

const Rate = z.strictObject({
  per_second: z
    .number()
    .positive()
    .max(100_000)
    .default(50)
    .describe('attempts of one caller at one concern'),
  burst: whole(1).default(200).describe('attempts that may arrive at once'),
  kept_for_pause: whole(0)
    .default(20)
    .describe('the part of the burst reserved for `pause`; less than the burst'),
});

const Audit = z.strictObject({
  verify_every_s: z
    .number()
    .min(1)
    .max(86_400)
    .default(300)
    .describe('the time between two [verifications](trader.md#audit) of what was added to the audit'),
});

const Caller = z.strictObject({
  accounts: z
    .array(z.union([symbol, z.literal('*')], { error: 'must be the name of an account, or "*" for all' }))
    .min(1)
    .max(1_000)
    .describe('the accounts that a caller of fleet.yaml may read and decide about; `*` for all'),
});

const Concern = z.strictObject({
  account_id: symbol.describe('letters, digits, `_` and `-`'),
  market_symbol: symbol.describe('letters, digits, `_` and `-`; one concern per account and market'),
  active_strategy_id: strategyId.nullable().default(null).describe('the active strategy at the first start'),
  run_state: z.enum(['running', 'paused']).default('running').describe('at the first start'),
  risk_mode: RiskMode.default('normal').describe('at the first start'),
  ...MarketSchema.shape,
  feed: FeedSchema.describe('the source of bars'),
  degraded: DegradedSchema,
  breakers: ConcernBreakers.prefault({}).describe(
    '[circuit breakers](trader.md#circuit-breakers); none by default',
  ),
});

const Strategy = z.strictObject({
  id: strategyId.describe('the id that decisions use'),
  name: text.describe('a name for people'),
  kind: text.describe('its algorithm, see below'),
  account_id: symbol.describe('the account of its concern'),
  market_symbol: symbol.describe('the market of its concern'),
  params: z.record(z.string(), z.json()).default({}).describe('the parameters of its kind, see below'),
  status: z.enum(['enabled', 'disabled']).default('enabled').describe('whether it may run'),
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
      z.strictObject({
        breakers: AccountBreakers.prefault({}).describe('over all concerns of an account together'),
      }),
    )
    .default({}),
  strategies: z.array(Strategy).max(1_000).default([]),
});

/** The strict schema of trader.yaml (docs/configuration.md#traderyaml), including the checks that span several keys. */
export const TraderConfigSchema = z
  .strictObject({ trader: Trader })
  .superRefine((value, ctx) => crossCheck(value, ctx), { when: () => true });

export type TraderConfig = z.output<typeof TraderConfigSchema>;
