import type { ControlDecision, SometimesUsed } from '@hermes-fleet/protocol/control';
import { NO_CONCERN, NO_STRATEGY } from './access.ts';
import { raisesRisk } from './actions.ts';
import type { Facts } from './facts.ts';
import type { Draft, Failure } from './response-draft.ts';

/** One stage of the checks; returns all failures of the stage. */
export type Check = (request: ControlDecision, facts: Facts, draft: Draft) => readonly Failure[];

/** The stages in their order (docs/trader.md#decision-table). The first stage with a failure ends the judgment. */
export const CHECKS: readonly Check[] = [
  checkConcern,
  checkUnused,
  checkTarget,
  checkFreshness,
  checkConfidence,
  checkExpectedActive,
  checkAudit,
  checkExecution,
];

const failure = (code: Failure['code'], field: string, message: string): Failure => ({
  code,
  field,
  message,
});

function checkConcern(
  { accountId, marketSymbol }: ControlDecision,
  { concern }: Facts,
  draft: Draft,
): Failure[] {
  draft.validation.concernMatch = concern !== undefined;
  if (concern === undefined) return [failure('unknown_concern', 'concern_id', `concern_id ${NO_CONCERN}`)];
  draft.validation.accountMatch = accountId === concern.accountId;
  draft.validation.marketMatch = marketSymbol === concern.marketSymbol;
  const found: Failure[] = [];
  if (!draft.validation.accountMatch)
    found.push(failure('account_mismatch', 'account_id', `the concern is of account ${concern.accountId}`));
  if (!draft.validation.marketMatch)
    found.push(
      failure('market_mismatch', 'market_symbol', `the concern is of market ${concern.marketSymbol}`),
    );
  return found;
}

/** A field that the action does not use may repeat the present state. Another value would be a decision that is not taken. */
function checkUnused(request: ControlDecision, { concern }: Facts, draft: Draft): Failure[] {
  const { action, targetStrategyId, riskMode, unused } = request;
  const present = { target_strategy_id: concern?.activeStrategyId, risk_mode: concern?.riskMode };
  const given = { target_strategy_id: targetStrategyId, risk_mode: riskMode };
  return unused.flatMap((field) => {
    const isUnchanged = given[field] === undefined || given[field] === present[field];
    if (!isUnchanged)
      return [
        failure('invalid_payload', field, `does not apply to ${action}; omit it, or send ${hint(field)}`),
      ];
    draft.warn('unused_field', `${field} is null or not used by ${action}, and is not read`);
    return [];
  });
}

const hint = (field: SometimesUsed): string =>
  field === 'risk_mode' ? 'set_risk_mode to change it' : 'a switch to change the strategy';

function checkTarget({ action }: ControlDecision, facts: Facts, { validation }: Draft): Failure[] {
  if (action === 'set_risk_mode') return [];
  const { target, active, concern } = facts;
  const strategy = action === 'switch' ? target : active;
  validation.targetExists = strategy !== undefined;
  if (strategy === undefined)
    return action === 'switch'
      ? [failure('target_not_found', 'target_strategy_id', `target_strategy_id ${NO_STRATEGY}`)]
      : [failure('no_active_strategy', 'action', `no strategy is active: there is nothing to ${action}`)];
  const isOurs = strategy.accountId === concern?.accountId && strategy.marketSymbol === concern.marketSymbol;
  if (!isOurs) {
    validation.targetRunnable = false;
    const where = `${strategy.accountId}:${strategy.marketSymbol}`;
    return [failure('target_scope_mismatch', 'target_strategy_id', `strategy ${strategy.id} is of ${where}`)];
  }
  if (action === 'pause') return [];
  validation.targetRunnable = strategy.status === 'enabled' && facts.unrunnable === undefined;
  if (validation.targetRunnable) return [];
  const field = action === 'switch' ? 'target_strategy_id' : 'action';
  const why = strategy.status === 'enabled' ? `cannot run: ${facts.unrunnable}` : `is ${strategy.status}`;
  return [failure('target_not_runnable', field, `strategy ${strategy.id} ${why}`)];
}

function checkFreshness(request: ControlDecision, { now, policy }: Facts, draft: Draft): Failure[] {
  const { requestedAt } = request;
  const ageMs = requestedAt === undefined ? 0 : now - Date.parse(requestedAt);
  const isEarly = ageMs < -policy.futureSlackMs;
  draft.validation.requestFresh = !isEarly && ageMs <= policy.maxAgeMs;
  if (draft.validation.requestFresh) return [];
  const seconds = Math.round(Math.abs(ageMs) / 1000);
  if (isEarly) {
    const message = `is ${seconds} s in the future; set the caller's clock`;
    return [failure('requested_in_future', 'requested_at', message)];
  }
  const message = `the request is ${seconds} s old, at most ${policy.maxAgeMs / 1000} s are accepted`;
  return unlessOverridden(request, draft, 'stale_request', 'requested_at', `${message}; decide again`);
}

function checkConfidence(request: ControlDecision, { concern, policy }: Facts, draft: Draft): Failure[] {
  draft.validation.confidenceAccepted = request.confidence >= policy.minConfidence;
  if (draft.validation.confidenceAccepted || concern === undefined) return [];
  const message = `the confidence of ${request.confidence} is below ${policy.minConfidence}`;
  if (raisesRisk(request, concern))
    return unlessOverridden(request, draft, 'confidence_too_low', 'confidence', message);
  draft.warn(
    'allowed_at_low_confidence',
    `${message}, which is enough for a decision that does not raise risk`,
  );
  return [];
}

function checkExpectedActive(request: ControlDecision, { concern }: Facts, draft: Draft): Failure[] {
  const { expectedActiveStrategyId: belief } = request;
  if (belief === undefined) {
    draft.warn(
      'unguarded_transition',
      'expected_active_strategy_id is absent: the replaced strategy is not checked',
    );
    return [];
  }
  const active = concern?.activeStrategyId ?? null;
  draft.validation.expectedActiveMatch = belief === active;
  if (draft.validation.expectedActiveMatch) return [];
  const message = `the active strategy is ${active ?? 'none'}, not the expected one; read the state and decide again`;
  return unlessOverridden(request, draft, 'expected_active_mismatch', 'expected_active_strategy_id', message);
}

/** No override passes it: what was decided before may be lost, and would be applied again. */
function checkAudit(request: ControlDecision, { concern, brokenAudit }: Facts, draft: Draft): Failure[] {
  if (brokenAudit === undefined || concern === undefined) return [];
  draft.validation.executionSafe = false;
  if (raisesRisk(request, concern)) {
    const message = `the audit is broken, which no override passes until an operator accepts it: ${brokenAudit}`;
    return [failure('execution_degraded', 'action', message)];
  }
  draft.warn(
    'allowed_while_degraded',
    'the audit is broken; a decision that does not raise risk is applied nevertheless',
  );
  return [];
}

function checkExecution(
  request: ControlDecision,
  { concern, degraded, brokenAudit, policy }: Facts,
  draft: Draft,
): Failure[] {
  draft.validation.executionSafe = !degraded && brokenAudit === undefined;
  if (!degraded || concern === undefined) return [];
  const message = 'execution is degraded; get_strategy says why';
  if (policy.strictDegraded || raisesRisk(request, concern))
    return unlessOverridden(request, draft, 'execution_degraded', 'action', message);
  draft.warn(
    'allowed_while_degraded',
    'execution is degraded; a decision that does not raise risk is applied nevertheless',
  );
  return [];
}

/** A failure, or a recorded warning if the request has `override`. */
function unlessOverridden(
  { override }: ControlDecision,
  draft: Draft,
  ...[code, field, message]: Parameters<typeof failure>
): Failure[] {
  if (!override) return [failure(code, field, message)];
  draft.warn('override_used', `override bypasses ${code}: ${message}`);
  return [];
}
