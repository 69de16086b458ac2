import { z } from 'zod';
import type { Camel } from '../wire/casing.ts';
import { encodeWith } from '../wire/codec.ts';
import type { JsonObject } from '../wire/json.ts';
import { RiskMode } from './request.ts';

/** The outcome of a decision (docs/trader.md#response). */
export const ControlStatus = z.enum(['applied', 'rejected', 'noop', 'failed']);
export type ControlStatus = z.infer<typeof ControlStatus>;

/** The reason for a rejected or failed decision (docs/trader.md#codes). */
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

/** A condition that the caller should know although the decision was not rejected. */
export const ControlWarning = z.enum([
  'duplicate_decision',
  'unguarded_transition',
  'stays_paused',
  'override_used',
  'allowed_while_degraded',
  'allowed_at_low_confidence',
  'unused_field',
]);
export type ControlWarning = z.infer<typeof ControlWarning>;

const check = z.boolean().nullable();

const validation = z.strictObject({
  schema_valid: check.describe('The payload is valid'),
  concern_match: check.describe('The concern is known'),
  account_match: check.describe("The account is the concern's"),
  market_match: check.describe("The market is the concern's"),
  target_exists: check.describe('The target, or the active strategy, exists'),
  target_runnable: check.describe('It belongs to the concern, and is neither disabled nor faulted'),
  request_fresh: check.describe('The request is neither too old nor from the future'),
  confidence_accepted: check.describe("The confidence reaches the trader's minimum"),
  expected_active_match: check.describe('The expected strategy is active'),
  execution_safe: check.describe('Execution is not degraded'),
});

/** The response to a decision (docs/trader.md#response): the same on every transport. */
export const ControlResponseWire = z.strictObject({
  ok: z.boolean().describe('True for applied and noop'),
  status: ControlStatus.describe('Outcome of the decision'),
  decision_id: z.string().nullable().describe('Null if the payload has no readable value'),
  concern_id: z.string().nullable().describe('Null if the payload has no readable value'),
  action: z.string().nullable().describe('Null if the payload has no readable value'),
  from_strategy_id: z.string().nullable().describe('Strategy that was active before'),
  to_strategy_id: z.string().nullable().describe('Strategy that is active now'),
  risk_mode: RiskMode.nullable().describe('Current risk mode; null if the concern is unknown'),
  dry_run: z.boolean().describe('True if the decision was only simulated'),
  validation: validation.describe('Result of each check; null if the check was not reached'),
  warnings: z
    .array(z.strictObject({ code: ControlWarning, message: z.string() }))
    .describe('Conditions that the caller should know'),
  errors: z
    .array(z.strictObject({ code: ControlCode, message: z.string(), field: z.string().optional() }))
    .describe('Reasons for rejected or failed'),
  result: z
    .strictObject({
      mode_change: z
        .enum(['applied', 'none', 'simulated', 'restored'])
        .describe('restored: the change failed, and the previous state continues'),
      effect: z
        .enum(['held'])
        .optional()
        .describe('held: failed, because it could not be written, but in effect; it is written later'),
      reconciled: z.boolean().describe('True if the runtime matches the state'),
      would_status: ControlStatus.optional().describe('Dry run only: status that a real decision would get'),
      canceled_orders: z.int().nonnegative().optional().describe('Number of open orders that it canceled'),
      inherited_position: z
        .string()
        .optional()
        .describe('Position that a switch handed over, in units of the base asset'),
    })
    .describe('Effects of the decision'),
  applied_at: z.string().nullable().describe('Time of application, RFC 3339; null if it was not applied'),
});
export type ControlResponse = Camel<z.output<typeof ControlResponseWire>>;
export type ControlValidation = ControlResponse['validation'];

export const encodeControlResponse = (response: ControlResponse): JsonObject =>
  encodeWith(ControlResponseWire, response);
