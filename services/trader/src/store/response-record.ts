import type { JsonObject } from '@hermes-fleet/protocol';
import type { ControlResponse, ControlResponseWire } from '@hermes-fleet/protocol/control';
import type { z } from 'zod';

type Wire = z.output<typeof ControlResponseWire>;

/**
 * The wire form of a response (docs/trader.md#response), as the audit records it. It is what `encodeControlResponse`
 * makes, but with its names in canonical order: one is written with every decision.
 */
export const responseRecord = (response: ControlResponse): JsonObject =>
  ({
    action: response.action,
    applied_at: response.appliedAt,
    concern_id: response.concernId,
    decision_id: response.decisionId,
    dry_run: response.dryRun,
    errors: response.errors.map(({ code, field, message }) => ({
      code,
      ...(field !== undefined && { field }),
      message,
    })),
    from_strategy_id: response.fromStrategyId,
    ok: response.ok,
    result: resultRecord(response.result),
    risk_mode: response.riskMode,
    status: response.status,
    to_strategy_id: response.toStrategyId,
    validation: validationRecord(response.validation),
    warnings: response.warnings.map(({ code, message }) => ({ code, message })),
  }) satisfies Wire;

/** The `result` of a response in the same form. */
export const resultRecord = (result: ControlResponse['result']) =>
  ({
    ...(result.canceledOrders !== undefined && { canceled_orders: result.canceledOrders }),
    ...(result.effect !== undefined && { effect: result.effect }),
    ...(result.inheritedPosition !== undefined && { inherited_position: result.inheritedPosition }),
    mode_change: result.modeChange,
    reconciled: result.reconciled,
    ...(result.wouldStatus !== undefined && { would_status: result.wouldStatus }),
  }) satisfies Wire['result'];

const validationRecord = (validation: ControlResponse['validation']) =>
  ({
    account_match: validation.accountMatch,
    concern_match: validation.concernMatch,
    confidence_accepted: validation.confidenceAccepted,
    execution_safe: validation.executionSafe,
    expected_active_match: validation.expectedActiveMatch,
    market_match: validation.marketMatch,
    request_fresh: validation.requestFresh,
    schema_valid: validation.schemaValid,
    target_exists: validation.targetExists,
    target_runnable: validation.targetRunnable,
  }) satisfies Wire['validation'];
