import { z } from 'zod';
import type { Camel } from '../casing.ts';
import { encodeWith } from '../codec.ts';
import type { JsonObject } from '../json.ts';
import { RiskMode } from './request.ts';

/** What became of a decision (action contract v0.1, Status values). */
export const ControlStatus = z.enum(['applied', 'rejected', 'noop', 'failed']);
export type ControlStatus = z.infer<typeof ControlStatus>;

/** Why a decision was rejected, or failed (design 4, the decision table). */
export const ControlCode = z.enum([
  'invalid_payload',
  'unsupported_action',
  'payload_too_large',
  'forbidden',
  'rate_limited',
  'decision_id_conflict',
  'unknown_concern',
  'account_mismatch',
  'market_mismatch',
  'target_not_found',
  'target_scope_mismatch',
  'target_not_runnable',
  'no_active_strategy',
  'stale_request',
  'requested_in_future',
  'confidence_too_low',
  'expected_active_mismatch',
  'execution_degraded',
  'store_unavailable',
  'activation_failed',
  'internal_error',
]);
export type ControlCode = z.infer<typeof ControlCode>;

/** What a caller should know of a decision that was not refused. */
export const ControlWarning = z.enum([
  'duplicate_decision',
  'unguarded_transition',
  'stays_paused',
  'override_used',
  'allowed_while_degraded',
  'allowed_at_low_confidence',
]);
export type ControlWarning = z.infer<typeof ControlWarning>;

const check = z.boolean().nullable();

const validation = z.strictObject({
  schema_valid: check.describe('Well-formed'),
  concern_match: check.describe('The concern is known'),
  account_match: check.describe("The account is the concern's"),
  market_match: check.describe("The market is the concern's"),
  target_exists: check.describe('The target, or what is active, is there'),
  target_runnable: check.describe('It is of the concern, and neither disabled nor faulted'),
  request_fresh: check.describe('Neither too old nor from the future'),
  confidence_accepted: check.describe('Not below what the trader asks for'),
  expected_active_match: check.describe('What the caller believes to be active is'),
  execution_safe: check.describe('Execution is not degraded'),
});

/** The answer to a decision (action contract v0.1, Response shape): the same at every door. */
export const ControlResponseWire = z.strictObject({
  ok: z.boolean().describe('True for applied and noop'),
  status: ControlStatus.describe('What became of it'),
  decision_id: z.string().nullable().describe('Null where the payload does not say it readably'),
  concern_id: z.string().nullable().describe('Null where the payload does not say it readably'),
  action: z.string().nullable().describe('Null where the payload does not say it readably'),
  from_strategy_id: z.string().nullable().describe('What was active'),
  to_strategy_id: z.string().nullable().describe('What is active now'),
  risk_mode: RiskMode.nullable().describe('The risk mode now; null where no concern was found'),
  dry_run: z.boolean().describe('Whether it was simulated only'),
  validation: validation.describe('Each check: true or false as far as it was reached, else null'),
  warnings: z.array(z.strictObject({ code: ControlWarning, message: z.string() })).describe('To be known'),
  errors: z
    .array(z.strictObject({ code: ControlCode, message: z.string(), field: z.string().optional() }))
    .describe('Why it was rejected, or failed'),
  result: z
    .strictObject({
      mode_change: z
        .enum(['applied', 'none', 'simulated', 'restored'])
        .describe('restored: it failed, and what was before goes on'),
      reconciled: z.boolean().describe('Whether the runtime does what the state says'),
      would_status: ControlStatus.optional().describe('Of a dry run: what a real one would come to'),
      canceled_orders: z.int().nonnegative().optional().describe('Open orders that it canceled'),
      inherited_position: z
        .string()
        .optional()
        .describe('What a switch handed over, in units of the base asset'),
    })
    .describe('What it did'),
  applied_at: z.string().nullable().describe('When it was applied, RFC 3339; null unless it was'),
});
export type ControlResponse = Camel<z.output<typeof ControlResponseWire>>;
export type ControlValidation = ControlResponse['validation'];

/** The `result` of an answer as it stands on the wire. */
export const encodeControlResult = (result: ControlResponse['result']): JsonObject =>
  encodeWith(ControlResponseWire.shape.result, result);

/** The answer as it stands on the wire. */
export const encodeControlResponse = (response: ControlResponse): JsonObject =>
  encodeWith(ControlResponseWire, response);
