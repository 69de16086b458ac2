import { type FieldError, FleetError, fieldErrors } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';
import { z } from 'zod';

const text = z.string().min(1).max(4_000);

/** What a backtest is asked to do, as `fleet trader backtest` sends it. Files are absolute paths. */
export const BacktestRequest = z.strictObject({
  /** A CSV file of bars; absent with `synthetic`, or for the feed of the concern. */
  csv: text.optional(),
  synthetic: z
    .strictObject({
      bars: z.int().min(1).max(500_000).default(20_000),
      seed: z.int().min(0).max(4_294_967_295).optional(),
      start_price: text.optional(),
      volatility_bps: z.number().min(0).max(1_000).optional(),
      interval_s: z.number().min(0.01).max(86_400).optional(),
    })
    .optional(),
  /** A trader.yaml; read only where a concern or a strategy of it is named. */
  config: text,
  concern: text.optional(),
  /** The id of a strategy in trader.yaml, or a kind. */
  strategies: z
    .array(z.strictObject({ strategy: text, params: z.record(z.string(), z.json()).optional() }))
    .max(50),
  /** Runs all strategies of the concern, or all kinds, where none is named. */
  compare: z.boolean(),
  /** Keys of a concern in trader.yaml that replace its own. */
  market: z.record(z.string(), z.json()).optional(),
  risk_mode: RiskMode.default('normal'),
  /** A script of decisions in JSON Lines. */
  decisions: text.optional(),
  /** The file that orders are written to, as CSV. */
  orders: text.optional(),
});

export type BacktestRequest = z.output<typeof BacktestRequest>;

/** Throws INVALID_PARAMS that names every wrong field. */
export function readRequest(json: string): BacktestRequest {
  const parsed = BacktestRequest.safeParse(JSON.parse(json));
  if (parsed.success) return parsed.data;
  throw wrongRequest(fieldErrors(parsed.error));
}

const wrongRequest = (fields: FieldError[]): FleetError =>
  new FleetError('INVALID_PARAMS', 'the backtest cannot be run as it is asked for', { fields });

/** A request that cannot be fulfilled; `path` is a field of it. */
export const wrongField = (path: string, reason: string): FleetError => wrongRequest([{ path, reason }]);
